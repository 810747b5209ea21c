"""`rig.user`: what the user of the trial said, and the questions that the agent asked them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from demeanor.core.values.user import UserTurn, user_said


@dataclass(frozen=True, kw_only=True, slots=True)
class UserQuestion:
    """A question that the agent asked its user within a turn."""

    text: str
    """The question."""

    options: tuple[str, ...] = ()
    """The answers that the agent offered."""

    answer: str | None = None
    """The user's answer; None if they did not answer."""


class UserView:
    """The user of a trial."""

    def __init__(self, prompts: Sequence[str], turns: Sequence[UserTurn]) -> None:
        self.said: tuple[str, ...] = (*prompts, *user_said(turns))
        """Everything that the user said, in order, the eval's prompts first."""
        self.replies: tuple[str, ...] = user_said(turns)
        """What the user replied after the agent's turns."""
        self.questions: tuple[UserQuestion, ...] = tuple(
            UserQuestion(text=turn.to, options=turn.options, answer=turn.said)
            for turn in turns
            if turn.kind == "answer"
        )
        """The questions that the agent asked within its turns, with the answers."""
        self.ended: str = next((turn.reason for turn in turns if turn.kind == "reply" and turn.said is None), "")
        """Why the conversation ended; empty if the user had not been asked for another message."""

    def __repr__(self) -> str:
        return f"<user: {len(self.replies)} replies, {len(self.questions)} questions>"
