"""What a judge is asked, and what it answers. A judge is a model that answers a check's question about the evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from demeanor.core.values.exchange import Exchange
from demeanor.core.values.verdict import VoidCause

JudgeWord: TypeAlias = Literal["yes", "no", "unknown"]


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeSettings:
    """The judge of a project: what applies to every question that does not say otherwise."""

    model: str = ""
    """The model; empty if the project names none."""

    instructions: str = ""
    """The system prompt."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeQuestion:
    """One question to a judge about one trial."""

    question: str
    """A statement about what the agent did, or a question about it; yes means that it is true."""

    model: str
    """The model to ask."""

    instructions: str
    """The system prompt."""

    rubric: str = ""
    """How to decide, for cases that the question leaves open."""

    votes: int = 1
    """How many times the model is asked; the majority decides."""

    texts: Mapping[str, str] = field(default_factory=dict)
    """The evidence that the judge is shown, by title."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeVote:
    """One answer of the model."""

    answer: JudgeWord
    """Yes, no, or unknown if the evidence does not tell."""

    quote: str = ""
    """The words of the evidence that decide; empty if something is missing there."""

    reason: str = ""
    """One sentence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeAnswer:
    """A judge's answer to one question, as it is stored with the trial."""

    key: str
    """Twelve hex digits of the model, its instructions, the question and the evidence shown."""

    judge: str
    """Twelve hex digits of the judge: model and what answers for it, instructions, question, rubric, votes, and the
    titles of the evidence.
    """

    question: str
    """The question."""

    model: str
    """The model that was asked."""

    votes: tuple[JudgeVote, ...] = ()
    """Its answers, one per vote; empty if there was a problem."""

    problem: tuple[VoidCause, str] | None = None
    """Why there is no answer; None if there is one."""

    exchanges: tuple[Exchange, ...] = ()
    """The exchanges with the model, failed ones included."""

    @property
    def answer(self) -> JudgeWord:
        """The answer of more than half of the votes; unknown if there is none."""
        word, number = Counter(vote.answer for vote in self.votes).most_common(1)[0]
        return word if 2 * number > len(self.votes) else "unknown"

    @property
    def deciding(self) -> JudgeVote:
        """The first vote that agrees with the answer; the first one if the panel is split."""
        return next((vote for vote in self.votes if vote.answer == self.answer), self.votes[0])


AskJudge: TypeAlias = Callable[[JudgeQuestion], JudgeAnswer]
"""Asks a judge a question for a check; raises WorldError if there is no answer."""
