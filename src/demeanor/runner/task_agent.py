"""Agents that can run whole tasks only: an engine installs and starts them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from demeanor.core.values.agent import Ability, Orders, Task
from demeanor.core.values.errors import WorldError
from demeanor.core.values.process import ProcessEnd
from demeanor.core.values.trajectory import Event, Kind
from demeanor.core.values.verdict import VoidCause


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskAgent:
    """An agent that only an engine can start; see `Agent` in core/values/agent.py."""

    name: str
    """Its name in a subject."""

    dialect: str | None = None
    """The model API it uses; None if it needs no model."""

    tool_kinds: Mapping[str, Kind] = field(default_factory=dict)
    """The kinds of its tools; empty for the usual names."""

    cannot: Mapping[Ability, str] = field(default_factory=dict)
    """Its missing abilities; none are known."""

    params: tuple[str, ...] | None = None
    """Its parameters; None, because a task passes no settings to it."""

    tells_requests: bool = False
    """Whether it reports permission requests; an engine does not let it."""

    def orders(self, task: Task) -> Orders:
        """Raise WorldError: only its engine can start it."""
        raise WorldError(VoidCause.HARNESS, f"{self.name} can run tasks only")

    def exit_ok(self, end: ProcessEnd) -> bool | None:
        """None: its exit code says nothing."""
        return None

    def read_log(self, ends: tuple[ProcessEnd, ...], leavings: Mapping[str, bytes]) -> tuple[Event, ...]:
        """Nothing: its engine reads its log."""
        return ()

    def missing(self) -> str | None:
        """None: its engine installs it."""
        return None

    def version(self) -> str | None:
        """None: its engine reports it with each trial."""
        return None
