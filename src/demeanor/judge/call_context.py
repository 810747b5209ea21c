"""What all views of a trial's calls share: their order, and what each call does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from demeanor.core.values.messages import Tool
from demeanor.core.values.trajectory import Called
from demeanor.judge.effects.call_effects import CallFacts, call_facts

if TYPE_CHECKING:
    from demeanor.judge.call_set import CallSet

Position: TypeAlias = tuple[float, float]
"""The number of a call in the trial, and a step within the call."""


@dataclass
class CallContext:
    """What all views of a trial share."""

    order: Mapping[int, int]
    """The positions of the calls in the trial, by identity."""

    tools: Mapping[str, Tool] = field(default_factory=dict)
    """The tools that the agent offered to its model, by name."""

    servers: frozenset[str] = frozenset()
    """The MCP servers of the eval, which record every call."""

    existed: Callable[[str], bool] = lambda path: False
    """Whether a file was in the workspace at the start."""

    last_asked: CallSet | None = None
    """The view that was last asked whether it has calls, or how many: what a failing assert is about."""

    _facts: dict[int, CallFacts] = field(default_factory=dict)

    def facts(self, call: Called) -> CallFacts:
        """What a call does; calculated once."""
        if id(call) not in self._facts:
            self._facts[id(call)] = call_facts(call, self.tools, self.existed)
        return self._facts[id(call)]


@dataclass(frozen=True, slots=True)
class Possible:
    """A recorded call that may belong to a view."""

    call: Called
    """The call."""

    reason: str
    """Why it is unknown whether it belongs."""
