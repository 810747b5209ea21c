"""`rig.main` and `rig.sub_agents`: what the agent itself did, and what each of its sub-agents did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import overload

from demeanor.core.values.trajectory import Aside, Called, Trajectory
from demeanor.judge.calls_view import Calls
from demeanor.judge.unknowable import UncertainCount, unknowable

SUB_AGENT = "sub-agent"


class NoSuchSubAgent(AssertionError):
    """There is no sub-agent at the requested index."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MainAgent:
    """The agent itself, without its sub-agents."""

    calls: Calls
    """Its tool calls, in order."""

    said: tuple[str, ...]
    """Its messages to its user, in order."""

    final_text: str
    """Its last message."""

    turns: int
    """The number of its model answers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SubAgent:
    """One sub-agent."""

    number: int
    """1, 2, 3 … in the order in which they started."""

    prompt: str
    """Its task, as it was sent to the model; empty if it was not recorded."""

    started_by: Called | None
    """The call that started it; None if that is unknown."""

    calls: Calls
    """Its tool calls, in order."""

    said: tuple[str, ...]
    """Its messages, in order; they don't reach the user."""

    turns: int
    """The number of its model answers."""

    @property
    def final_text(self) -> str:
        """Its last message, which is usually its report to the agent."""
        return self.said[-1] if self.said else ""


class SubAgents:
    """The sub-agents of a trial, in the order in which they started. True if there is one."""

    def __init__(self, trajectory: Trajectory, calls: Calls) -> None:
        self.seen = _sub_agents(trajectory, calls)
        """The recorded ones, whether or not there may be others."""
        self.gaps = trajectory.gaps + trajectory.sub_agent_gaps
        """Why there may be others; empty if these are all."""

    def count(self) -> int:
        """The number of sub-agents; if there may be others, a lower bound that compares only if that is certain."""
        return UncertainCount(len(self.seen), self.gaps) if self.gaps else len(self.seen)

    def __bool__(self) -> bool:
        if self.gaps and not self.seen:
            raise unknowable("that there are no sub-agents", self.gaps)
        return bool(self.seen)

    def __len__(self) -> int:
        if self.gaps:
            raise unknowable("how many sub-agents there are (.count() may be enough)", self.gaps)
        return len(self.seen)

    def __iter__(self) -> Iterator[SubAgent]:
        yield from self.seen
        if self.gaps:
            raise unknowable("that these are all sub-agents", self.gaps)

    @overload
    def __getitem__(self, index: int) -> SubAgent: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[SubAgent, ...]: ...
    def __getitem__(self, index: int | slice) -> SubAgent | tuple[SubAgent, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        if -len(self.seen) <= index < len(self.seen) and (index >= 0 or not self.gaps):
            return self.seen[index]
        if self.gaps:
            raise unknowable(f"sub_agents[{index}]", self.gaps)
        raise NoSuchSubAgent(f"there is no sub_agents[{index}]: {self!r}")

    def __repr__(self) -> str:
        return f"<sub-agents: {len(self.seen)}{', perhaps more' if self.gaps else ''}>"


def _sub_agents(trajectory: Trajectory, calls: Calls) -> tuple[SubAgent, ...]:
    """The recorded sub-agents. Side requests that use tools, such as for the agent's memory, are not sub-agents."""
    requests: dict[int, list[Aside]] = {call.sub_agent: [] for call in trajectory.calls if call.sub_agent}
    others = {0}
    for event in trajectory.events:
        if isinstance(event, Aside) and event.purpose == SUB_AGENT:
            requests.setdefault(event.sub_agent, []).append(event)
        elif isinstance(event, Aside):
            others.add(event.sub_agent)
    numbers = sorted(requests.keys() - others)
    return tuple(_sub_agent(number, requests[number], trajectory.calls, calls) for number in numbers)


def _sub_agent(number: int, requests: list[Aside], recorded: tuple[Called, ...], calls: Calls) -> SubAgent:
    starter = next((request.started_by for request in requests if request.started_by), "")
    return SubAgent(
        number=number,
        prompt=next((request.prompt for request in requests if request.prompt), ""),
        started_by=next((call for call in recorded if call.id == starter and call.sub_agent < number), None),
        calls=calls.by_sub_agents(number),
        said=tuple(request.said for request in requests if request.said.strip()),
        turns=len(requests),
    )
