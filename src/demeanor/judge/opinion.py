"""`rig.judge(…)`: asks a model about the evidence, and gives its opinion to the check."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from demeanor.core.text.wording import one_line, printable
from demeanor.core.values.errors import WorldError, did_you_mean
from demeanor.core.values.eval import Eval
from demeanor.core.values.judge_question import (
    AskJudge,
    JudgeAnswer,
    JudgeQuestion,
    JudgeSettings,
    JudgeVote,
    JudgeWord,
)
from demeanor.core.values.trajectory import Called, Event, Said
from demeanor.core.values.verdict import VoidCause
from demeanor.judge.judge_prompt import INSTRUCTIONS
from demeanor.judge.tool_answer import quoted, unquoted, without_middle
from demeanor.judge.unknowable import unknowable

if TYPE_CHECKING:
    from demeanor.judge.rig import Rig

EVIDENCE = ("prompt", "final_text", "said", "trajectory", "diff")
"""What a judge can be shown by name."""

DEFAULT_EVIDENCE = ("prompt", "final_text")
_MOST_OF_CALL = 600
Shown: TypeAlias = str | Sequence[str] | Mapping[str, str]


def no_judge(question: JudgeQuestion) -> JudgeAnswer:
    """Where no model can be asked, the question has no answer."""
    raise unknowable("what a judge would say", ("no judge is asked here",))


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeAccess:
    """How the checks of an eval reach its judge."""

    ask: AskJudge = no_judge
    """Asks the model."""

    settings: JudgeSettings = field(default_factory=JudgeSettings)
    """The project's judge."""

    prompts: tuple[str, ...] = ()
    """What the agent was asked."""

    @classmethod
    def of(cls, eval: Eval, ask: AskJudge) -> JudgeAccess:  # noqa: A002
        """The access for one eval."""
        return cls(ask=ask, settings=eval.judge, prompts=eval.scenario.prompts)


class Opinion:
    """A judge's answer. It is true if the answer is yes, and false if it is no.

    If the judge could not tell, asking for the truth makes the trial void: it is neither.
    """

    def __init__(self, answer: JudgeAnswer, shown: Iterable[str]) -> None:
        self.used = False
        """Whether the check has looked at the answer."""
        self._given = answer
        self._shown = tuple(map(_plain, shown))

    @property
    def answer(self) -> JudgeWord:
        """`yes`, `no` or `unknown`."""
        self.used = True
        return self._given.answer

    @property
    def quote(self) -> str:
        """The words of the evidence that decided; empty if there are none."""
        return self._given.deciding.quote

    @property
    def reason(self) -> str:
        """The judge's reason."""
        return self._given.deciding.reason

    @property
    def votes(self) -> tuple[JudgeVote, ...]:
        """Every vote, in order."""
        self.used = True
        return self._given.votes

    @property
    def quote_found(self) -> bool:
        """Whether the quote really is in the evidence that was shown."""
        words = _plain(self.quote)
        return bool(words) and any(words in text for text in self._shown)

    def __bool__(self) -> bool:
        if self.answer == "unknown":
            raise WorldError(VoidCause.JUDGE, f"the judge could not tell: {self}")
        return self.answer == "yes"

    def __str__(self) -> str:
        quote = f" {one_line(self.quote, width=120)!r}" if self.quote else ""
        doubt = " (not in the evidence)" if self.quote and not self.quote_found else ""
        votes = self._given.votes
        panel = f" ({', '.join(vote.answer for vote in votes)})" if len(votes) > 1 else ""
        asked = one_line(self._given.question, width=120)
        reason = one_line(printable(self.reason), width=300)
        return f"{self._given.model} answers {self._given.answer}{panel} to {asked!r}:{quote}{doubt} {reason}".rstrip(
            ": "
        )

    def __repr__(self) -> str:
        return f"<judge {self}>"


def ask_judge(
    rig: Rig,
    access: JudgeAccess,
    *,
    question: str,
    rubric: str = "",
    model: str | None = None,
    votes: int = 1,
    evidence: Shown = DEFAULT_EVIDENCE,
) -> Opinion:
    """Ask the judge about the evidence of a trial."""
    if not question.strip():
        raise ValueError("the question to the judge is empty")
    if votes < 1 or votes % 2 == 0:
        raise ValueError(f"votes={votes!r}: use an odd number, so that a panel can't be split in half")
    asked = JudgeQuestion(
        question=question,
        rubric=rubric.strip(),
        model=model or access.settings.model,
        instructions=access.settings.instructions or INSTRUCTIONS,
        votes=votes,
        texts={title: without_middle(text) for title, text in _texts(rig, evidence, access.prompts).items()},
    )
    return Opinion(access.ask(asked), asked.texts.values())


def _texts(rig: Rig, evidence: Shown, prompts: Sequence[str]) -> dict[str, str]:
    if isinstance(evidence, Mapping):
        return {_title(title): quoted(text) for title, text in evidence.items()}
    names = (evidence,) if isinstance(evidence, str) else tuple(evidence)
    if not names:
        raise ValueError(f"evidence is empty: choose from {', '.join(EVIDENCE)}")
    return {name: _text(rig, name, prompts) for name in names}


def _text(rig: Rig, name: str, prompts: Sequence[str]) -> str:
    if name == "prompt":
        return quoted("\n\n".join((*prompts, *rig.user.replies)))
    if name == "final_text":
        return quoted(rig.final_text) or "(nothing)"
    if name == "diff":
        return quoted(rig.workspace.diff) or "(nothing was changed)"
    if name in {"said", "trajectory"}:
        gaps = rig.trajectory.gaps + (rig.trajectory.call_gaps if name == "trajectory" else ())
        if gaps:
            raise unknowable(f"the {name} to show to the judge", gaps)
        kinds = (Said,) if name == "said" else (Said, Called)
        lines = [_line(event) for event in rig.trajectory.events if isinstance(event, kinds)]
        return "\n".join(lines) or "(nothing)"
    hint = did_you_mean(name, EVIDENCE, f"choose from {', '.join(EVIDENCE)}, or give a mapping of texts")
    raise ValueError(f"evidence {name!r} is unknown: {hint}")


def _line(event: Event) -> str:
    """One event: our own words, and what the agent and its tools wrote as quoted lines or as JSON."""
    if isinstance(event, Said):
        return f"[{event.turn}] the agent says:\n{quoted(event.text)}"
    if isinstance(event, Called):
        arguments = {
            one_line(key, width=200): one_line(str(value), width=200) for key, value in event.arguments.items()
        }
        failed = " failed" if event.succeeded is False else ""
        outcome = _json(one_line(event.result or "", width=_MOST_OF_CALL))
        return (
            f"[{event.turn}] the agent calls {_json(one_line(event.tool))} with {_json(arguments)}{failed} → {outcome}"
        )
    return ""


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _plain(text: str) -> str:
    """Words as they are compared with a quote: without our marks, and without JSON's."""
    return unquoted(text).replace('\\"', '"')


def _title(title: str) -> str:
    """A title that stays on one line."""
    return one_line(printable(title), width=80)
