"""Messages of the user while the agent works: hints, and interruptions.

This module imports nothing but the standard library and nothing else of Demeanor: the programs that run inside a
sandbox (the native agent, the ACP client, the host of agents with streamed input) use it too. A copy of the native
agent for Harbor includes this file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ANY_CALL = "call"
TURN = "turn"


@dataclass(frozen=True, kw_only=True, slots=True)
class Steer:
    """One message of the user while the agent works. The sentence under a field is also its documentation."""

    after: str = ANY_CALL
    """What it comes after: a kind of call (`edit`), a tool (`write_file`), any `call`, or a `turn` of the model."""

    say: str = ""
    """What the user says. Only an interruption may be without a message."""

    nth: int = 1
    """After how many of these calls or turns it is said."""

    interrupt: bool = False
    """Whether the agent's turn is cancelled first; the message is then the next prompt."""

    def __post_init__(self) -> None:
        """Reject a message that could never be said."""
        if not self.say.strip() and not self.interrupt:
            raise ValueError("there is nothing to say; give `say` a text, or set interrupt=True")
        if not self.after.strip():
            raise ValueError("`after` is empty; name a kind of call, a tool, `call` or `turn`")
        if self.nth < 1:
            raise ValueError(f"nth={self.nth}: expected 1 or more")


class Steering:
    """Tells when the messages of one trial are due, by `Steer` values in their JSON form. Each is due once."""

    def __init__(self, messages: Sequence[Mapping[str, Any]], counts: Mapping[str, int] | None = None) -> None:
        self.open = [dict(message) for message in messages]
        """Those that were not due yet."""
        self.counts: dict[str, int] = dict(counts or {})
        """How often each event has happened."""

    def called(self, tool: str, kind: str) -> None:
        """Count a finished call."""
        for name in {ANY_CALL, tool, kind}:
            self.counts[name] = self.counts.get(name, 0) + 1

    def answered(self) -> None:
        """Count an answer of the model."""
        self.counts[TURN] = self.counts.get(TURN, 0) + 1

    def due(self) -> list[dict[str, Any]]:
        """The messages that are due now, in the order of the eval."""
        due = [
            message
            for message in self.open
            if self.counts.get(message.get("after", ANY_CALL), 0) >= message.get("nth", 1)
        ]
        self.open = [message for message in self.open if message not in due]
        return due


def steered_event(steer: Mapping[str, Any], turn: int, delivery: str) -> dict[str, Any]:
    """The event for a message that was given, in its JSON form."""
    event = {"type": "steered", "turn": turn, "text": steer.get("say", ""), "after": steer.get("after", ANY_CALL)}
    return {**event, "delivery": delivery}
