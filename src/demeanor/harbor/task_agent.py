"""Agents that play tasks and nothing else: Harbor brings them, and starts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from demeanor.core.agent import Ability, Orders, Task
from demeanor.core.errors import WorldError
from demeanor.core.process import ProcessEnd
from demeanor.core.trajectory import Event, Kind
from demeanor.core.verdict import VoidCause


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskAgent:
    """An agent of Harbor's; see `Agent` in core/agent.py."""

    name: str
    """As written in a subject."""

    dialect: str | None = None
    """The model API it speaks; None where it needs no model."""

    tool_kinds: Mapping[str, Kind] = field(default_factory=dict)
    """Its tools' names are the usual ones, as far as they are known."""

    cannot: Mapping[Ability, str] = field(default_factory=dict)
    """Nothing is known of what it can't do."""

    params: tuple[str, ...] | None = None
    """A task hands no settings to it."""

    tells_requests: bool = False
    """Harbor lets it ask for nothing."""

    def orders(self, task: Task) -> Orders:
        """Only Harbor can start it."""
        raise WorldError(VoidCause.HARNESS, f"{self.name} plays tasks only")

    def exit_ok(self, end: ProcessEnd) -> bool | None:
        """Its exit says nothing."""
        return None

    def read_log(self, ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
        """Harbor reads its log."""
        return ()

    def missing(self) -> str | None:
        """Harbor brings it."""
        return None

    def version(self) -> str | None:
        """Told by Harbor, with each trial."""
        return None
