"""Builds the events of an attempt from an agent's own log."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Literal

from demeanor.core.values.trajectory import (
    Aside,
    Called,
    Concluded,
    Event,
    Kind,
    Said,
    Steered,
    Thought,
    deferred_call,
    kind_of,
    proved,
)

_IN_BACKGROUND = ("run_in_background", "is_background", "background")
"""Arguments that start a command without waiting for its end."""


class LogBuilder:
    """Collects events in the order in which a log reports them.

    `shells` are the tools that fail if their command does: an agent that reports their success reports exit code 0.
    """

    def __init__(self, kinds: Mapping[str, Kind] | None = None, *, shells: Collection[str] = ()) -> None:
        self._kinds = kinds
        self._shells = shells
        self._events: list[Event] = []
        self._index: dict[tuple[int, str], int] = {}
        self._sub_agents: dict[str, int] = {}
        self._sub_agent_names: dict[int, str] = {}
        self._message = ""
        self.turn = 0
        """The current model answer; 0 before the first."""

    def next_turn(self) -> None:
        """Start another answer of the model."""
        self.turn += 1

    def sub_agent(self, name: str, started_by: str = "") -> int:
        """The number of the sub-agent with this name or id, or that this call started; 0 for the agent itself, without
        either. The log may give only one of them. An id of a call may come again for another sub-agent.
        """
        if not name and not started_by:
            return 0
        number = self._sub_agents.get(name) or self._sub_agents.get(started_by)
        if number is None or (name and self._sub_agent_names.get(number, name) != name):
            number = max(self._sub_agents.values(), default=0) + 1
        if name:
            self._sub_agent_names[number] = name
        self._sub_agents |= {key: number for key in (name, started_by) if key}
        return number

    def add_text(self, text: str, *, message: str = "", sub_agent: int = 0) -> None:
        """Add text of the agent. Consecutive pieces with the same `message` id are joined.

        The text of a sub-agent does not reach the user.
        """
        if not sub_agent:
            self._add(Said(turn=max(self.turn, 1), text=text), message)
        elif text.strip():
            self._events.append(Aside(turn=max(self.turn, 1), purpose="sub-agent", said=text, sub_agent=sub_agent))

    def add_thought(self, text: str, *, message: str = "", sub_agent: int = 0) -> None:
        """Add reasoning of the model. Consecutive pieces with the same `message` id are joined."""
        if not sub_agent:
            self._add(Thought(turn=max(self.turn, 1), text=text), message)

    def add_steered(self, text: str, after: str, delivery: str) -> None:
        """Add a message of the user while the agent worked."""
        how: Literal["hint", "interrupt", "prompt"] = "hint"
        if delivery == "interrupt":
            how = "interrupt"
        elif delivery == "prompt":
            how = "prompt"
        self._events.append(Steered(turn=max(self.turn, 1), text=text, after=after, delivery=how))

    def conclude(self, text: str) -> None:
        """Add the result of the last prompt, where the log names it."""
        if text.strip():
            self._events.append(Concluded(turn=max(self.turn, 1), text=text))

    def _add(self, event: Said | Thought, message: str) -> None:
        last = self._events[-1] if self._events else None
        same = bool(message) and message == self._message
        if same and isinstance(last, Said | Thought) and (last.type, last.turn) == (event.type, event.turn):
            self._events[-1] = replace(last, text=last.text + event.text)
        elif event.text.strip():
            self._events.append(event)
            self._message = message

    def add_call(self, call: str, tool: str, arguments: Mapping[str, Any], *, sub_agent: int = 0) -> None:
        """Add a tool call with the id `call`. A call that is reported twice counts once, with the last arguments.

        An id that comes again in a later turn, after its result, is a new call: ids are not always unique. Those of a
        sub-agent are its own.
        """
        tool, arguments = deferred_call(tool, arguments)
        event = Called(
            turn=max(self.turn, 1),
            id=call,
            tool=tool,
            kind=kind_of(tool, self._kinds),
            arguments=dict(arguments),
            witness="log",
            by_sub_agent=bool(sub_agent),
            sub_agent=sub_agent,
        )
        key = (sub_agent, call)
        if self._is_known(key) and not self._is_finished(key):
            self._update(key, arguments=event.arguments)
            return
        self._index[key] = len(self._events)
        self._events.append(event)

    def add_result(
        self,
        call: str,
        result: str | None,
        *,
        succeeded: bool | None = None,
        exit_code: int | None = None,
        seconds: float | None = None,
        sub_agent: int = 0,
    ) -> None:
        """Add the result of a call, or a part of it: values that are None leave earlier ones unchanged.

        A result without a known call is ignored. A command without an exit code is not known to have succeeded.
        """
        key = (sub_agent, call)
        if not self._is_known(key):
            return
        if succeeded and exit_code is None and self._ran_in_shell(key):
            exit_code = 0
        fields = {"result": result, "succeeded": succeeded, "exit_code": exit_code, "seconds": seconds}
        self._update(key, **{name: value for name, value in fields.items() if value is not None})

    def _ran_in_shell(self, key: tuple[int, str]) -> bool:
        event = self._events[self._index[key]]
        if not isinstance(event, Called) or event.tool not in self._shells:
            return False
        return not any(event.arguments.get(name) is True for name in _IN_BACKGROUND)

    def _is_known(self, key: tuple[int, str]) -> bool:
        return bool(key[1]) and key in self._index

    def _is_finished(self, key: tuple[int, str]) -> bool:
        event = self._events[self._index[key]]
        return isinstance(event, Called) and event.result is not None and (event.turn < self.turn or bool(key[0]))

    def _update(self, key: tuple[int, str], **changes: Any) -> None:
        index = self._index[key]
        self._events[index] = replace(self._events[index], **changes)

    def events(self) -> tuple[Event, ...]:
        """All events so far."""
        return tuple(proved(event) if isinstance(event, Called) else event for event in self._events)
