"""What an agent's own log tells, put together event by event."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from demeanor.core.trajectory import Called, Event, Kind, Said, Thought, kind_of


class LogBuilder:
    """The events of a log, as they are read."""

    def __init__(self, kinds: Mapping[str, Kind] | None = None) -> None:
        self._kinds = kinds
        self._events: list[Event] = []
        self._places: dict[str, int] = {}
        self._message = ""
        self.turn = 0
        """The model answer that is being told; 0 before the first."""

    def next_turn(self) -> None:
        """Another answer of the model begins."""
        self.turn += 1

    def said(self, text: str, *, piece_of: str = "") -> None:
        """The agent said something. Pieces of the same message that follow each other are one."""
        self._spoken(Said(turn=max(self.turn, 1), text=text), piece_of)

    def thought(self, text: str, *, piece_of: str = "") -> None:
        """The model thought something. Pieces of the same message that follow each other are one."""
        self._spoken(Thought(turn=max(self.turn, 1), text=text), piece_of)

    def _spoken(self, event: Said | Thought, message: str) -> None:
        last = self._events[-1] if self._events else None
        same = bool(message) and message == self._message
        if same and isinstance(last, Said | Thought) and (last.type, last.turn) == (event.type, event.turn):
            self._events[-1] = replace(last, text=last.text + event.text)
        elif event.text.strip():
            self._events.append(event)
            self._message = message

    def called(self, call: str, tool: str, arguments: Mapping[str, Any]) -> None:
        """A tool was called, by a call's id. A call that is told twice counts once, with the arguments told last.

        Told again in a later turn, when it was answered already, it is another call: ids are not always unique.
        """
        event = Called(
            turn=max(self.turn, 1),
            id=call,
            tool=tool,
            kind=kind_of(tool, self._kinds),
            arguments=dict(arguments),
            witness="log",
        )
        if self._known(call) and not self._over(call):
            self._change(call, arguments=event.arguments)
            return
        self._places[call] = len(self._events)
        self._events.append(event)

    def answered(
        self, call: str, result: str | None, *, succeeded: bool | None = None, seconds: float | None = None
    ) -> None:
        """A tool answered, as far as it is told: a later word completes an earlier one.

        An answer to a call that nobody told of is passed over.
        """
        told = {"result": result, "succeeded": succeeded, "seconds": seconds}
        if self._known(call):
            self._change(call, **{name: value for name, value in told.items() if value is not None})

    def _known(self, call: str) -> bool:
        return bool(call) and call in self._places

    def _over(self, call: str) -> bool:
        event = self._events[self._places[call]]
        return isinstance(event, Called) and event.result is not None and event.turn < self.turn

    def _change(self, call: str, **changes: Any) -> None:
        place = self._places[call]
        self._events[place] = replace(self._events[place], **changes)

    def events(self) -> tuple[Event, ...]:
        """All of it."""
        return tuple(self._events)
