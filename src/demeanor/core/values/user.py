"""The user of a trial: what it says after each turn of the agent, and how it answers the agent's questions.

A user follows rules, calls a function of the eval, or is played by a model. The rules are plain data, so that they can
be hashed, written in scenario.toml, and sent to a worker of a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from demeanor.core.text.wildcards import contains
from demeanor.core.values.exchange import Exchange
from demeanor.core.values.verdict import VoidCause

MOST_TURNS = 10
"""How many replies a user gives, unless the eval says otherwise."""

ReplyFunction: TypeAlias = Callable[[Any], str | None]
"""`def reply(rig) -> str | None`: what the user says next, given the rig of the trial so far; None to say no more."""


@dataclass(frozen=True, slots=True)
class UserReply:
    """One scripted reply."""

    text: str
    """What the user says."""

    _: KW_ONLY

    when: str = ""
    """A text that the agent's last message, or its question, must contain; `*` stands for anything, and upper and lower
    case are the same. Empty for any message.
    """

    times: int | None = None
    """How many times it is given. Default: once without `when`, any number of times with it."""

    def __post_init__(self) -> None:
        """Reject a reply that could never be given."""
        if not self.text.strip():
            raise ValueError("a reply of the user is empty")
        if self.times is not None and self.times < 1:
            raise ValueError(f"times={self.times}: expected 1 or more")

    def fits(self, message: str, used: int) -> bool:
        """Whether it replies to a message, after it was given `used` times."""
        most = self.times
        if most is None and not self.when:
            most = 1
        return (most is None or used < most) and contains(_plain(message), _plain(self.when))


@dataclass(frozen=True, kw_only=True, slots=True)
class ScriptedUser:
    """A user who follows rules, or a function."""

    replies: tuple[UserReply, ...] = ()
    """What it says: after each turn of the agent, the first reply that fits the agent's last message and is not used
    up. When none fits, the conversation ends.
    """

    reply: ReplyFunction | None = None
    """A function that replies instead: `def reply(rig) -> str | None`. None ends the conversation."""

    answers: tuple[UserReply, ...] = ()
    """Its answers to the agent's questions, a rule for each."""

    max_turns: int = MOST_TURNS
    """How many replies it gives before the conversation ends."""

    kind: Literal["scripted"] = "scripted"
    """The tag of this type."""

    def __post_init__(self) -> None:
        """Accept texts instead of replies, and reject a user who can't say anything."""
        for name in ("replies", "answers"):
            object.__setattr__(self, name, as_replies(getattr(self, name)))
        _check_turns(self.max_turns)
        if self.replies and self.reply is not None:
            raise ValueError("both replies and reply are given; use one of them")
        if not self.replies and not self.answers and self.reply is None:
            raise ValueError("the user has neither replies nor answers, nor a function that replies")


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulatedUser:
    """A user who is played by a model."""

    goal: str
    """What the user wants to achieve, and what it knows that the agent does not."""

    persona: str = ""
    """Who the user is and how they write, such as `in a hurry, answers in one short sentence`."""

    opening: str = ""
    """The user's first message, instead of the eval's `prompt`."""

    model: str = ""
    """The model that plays the user. Default: that of `[judge]`."""

    answers: tuple[UserReply, ...] = ()
    """Answers to the agent's questions, a rule for each; the model answers the others."""

    max_turns: int = MOST_TURNS
    """How many replies it gives before the conversation ends."""

    check_role: bool = True
    """Whether the model is asked, at the end, if the user stayed in its role. If it did not, the trial is void."""

    instructions: str = ""
    """The system prompt of the model that plays the user. Default: built-in."""

    kind: Literal["simulated"] = "simulated"
    """The tag of this type."""

    def __post_init__(self) -> None:
        """Accept texts instead of answers, and reject a user without a goal."""
        object.__setattr__(self, "answers", as_replies(self.answers))
        _check_turns(self.max_turns)
        if not self.goal.strip():
            raise ValueError("the goal of the simulated user is empty")


User: TypeAlias = ScriptedUser | SimulatedUser


@dataclass(frozen=True, kw_only=True, slots=True)
class UserTurn:
    """One thing that the user was asked for, with what it said; stored with the trial."""

    to: str
    """What it reacts to: the agent's last message, or its question."""

    said: str | None = None
    """What the user said; None if it said nothing more, or did not answer."""

    kind: Literal["reply", "answer", "role"] = "reply"
    """`reply` after a turn of the agent; `answer` to a question that it asked within a turn; `role` for the check that
    a simulated user stayed in its role.
    """

    options: tuple[str, ...] = ()
    """The answers that the agent offered, if any."""

    reason: str = ""
    """Why the user said nothing, or why it stayed in its role or left it."""

    problem: tuple[VoidCause, str] | None = None
    """Why the user could not be asked, if it couldn't; the trial is then void."""

    exchanges: tuple[Exchange, ...] = field(default=(), repr=False)
    """The exchanges with the model that plays the user, failed ones included."""


class AskedUser(Protocol):
    """The user of one attempt, who can be asked while the agent works."""

    async def reply(self, said: str) -> str | None:
        """What the user says next, after the agent's last message; None if the conversation is over."""
        ...

    async def answer(self, question: str, options: tuple[str, ...]) -> str | None:
        """The user's answer to a question of the agent; None if they do not answer."""
        ...


def as_replies(value: object) -> tuple[UserReply, ...]:
    """Texts and replies, one or several, as replies."""
    replies = [value] if isinstance(value, str | UserReply) else value
    if not isinstance(replies, Sequence) or not all(isinstance(reply, str | UserReply) for reply in replies):
        raise ValueError(f"expected texts or replies of the user, found {value!r}")
    return tuple(UserReply(reply) if isinstance(reply, str) else reply for reply in replies)


def scripted_reply(rules: Sequence[UserReply], message: str, used: dict[int, int]) -> str | None:
    """The text of the first rule that fits a message, which is then counted in `used`; None if there is none."""
    for index, rule in enumerate(rules):
        if rule.fits(message, used.get(index, 0)):
            used[index] = used.get(index, 0) + 1
            return rule.text
    return None


def user_said(turns: Sequence[UserTurn]) -> tuple[str, ...]:
    """The user's messages between the agent's turns, in order."""
    return tuple(turn.said for turn in turns if turn.said is not None and turn.kind == "reply")


def _check_turns(number: int) -> None:
    if number < 1:
        raise ValueError(f"max_turns={number}: expected 1 or more")


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
