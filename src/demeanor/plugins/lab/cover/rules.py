"""The rule of `cover`: which removal to try next with which eval, and what follows from the trials so far.

Everything is a function of the trials: eval and removed instructions → passes and fails. So an interrupted search goes
on where it stopped, and the same rule runs in simulations. Evals are searched one after the other
(statistics/group_search.py). An instruction that an eval holds is left alone in the searches of later evals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from demeanor.core.text.wording import count
from demeanor.reports.prompt_coverage import InstructionAnswer
from demeanor.statistics import (
    Found,
    Question,
    RateChangeTest,
    RateDirection,
    Tries,
    baseline_ends,
    path_length,
    search,
    true_count,
)

Removal: TypeAlias = tuple[str, frozenset[str]]
"""An eval, and the instructions that are removed."""

GROUP_FALSE_ALARM = 0.05
"""The accepted false alarm of a group: it costs trials, but is not reported."""

BASELINE_TRIALS = 10
"""Trials with the prompt as it is, for an eval whose history has fewer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CoverRule:
    """What must be noticed, and how often the answers may be wrong."""

    drop: float = 0.5
    """The change of a pass rate that must be noticed."""

    sure: float = 0.95
    """The probability to notice it."""

    false_alarm: float = 0.01
    """The accepted probability to report an instruction that changes nothing, for each that is tried alone."""

    cap: int = 40
    """The largest number of trials of one eval with one removal."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CoverEval:
    """An eval that may notice a removal."""

    name: str
    """Its name."""

    baseline: Tries
    """Its trials with the prompt as it is."""

    parts: tuple[str, ...]
    """The instructions that its agent sends, the likeliest to matter first."""

    barred: str | None = None
    """Why it can't be run; None if it can."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NextTrials:
    """Trials to run next."""

    eval: str
    """The eval."""

    removed: frozenset[str]
    """The instructions to remove."""

    trials: int
    """How many."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldBy:
    """An eval whose rate changes without a set of instructions."""

    eval: str
    """The eval."""

    parts: tuple[str, ...]
    """The instructions that were removed together."""

    change: RateDirection
    """Whether the rate falls or rises."""

    before: Tries
    """Trials with the prompt as it is."""

    after: Tries
    """Trials without these instructions."""

    doubt: float
    """A bound of the probability that these trials come from an unchanged rate."""

    @property
    def holds(self) -> bool:
        """Whether the eval holds a single instruction."""
        return self.change == "drop" and len(self.parts) == 1


@dataclass(kw_only=True, slots=True)
class EvalSearch:
    """The search of one eval so far."""

    eval: CoverEval
    """The eval."""

    test: RateChangeTest
    """Its test of groups."""

    found: Found
    """What it found."""

    parts: tuple[str, ...] = ()
    """The instructions that it is asked about."""

    next: NextTrials | None = None
    """The trials that it needs next; None if it has ended or has not begun."""

    held: tuple[HeldBy, ...] = ()
    """The sets that it notices."""

    @property
    def unusable(self) -> str | None:
        """Why the eval can't answer; None if it can."""
        if self.eval.barred is not None:
            return self.eval.barred
        if self.test.dropped is None and self.test.risen is None:
            trials = count(self.eval.baseline.judged, "trial")
            return f"its rate is not known well enough: {trials} with the prompt as it is"
        if self.found.unsteady is not None:
            return f"its rate has changed since its baseline ({self.found.unsteady}), without any removal"
        return None


@dataclass(frozen=True, kw_only=True, slots=True)
class CoverState:
    """All trials so far, and what follows from them."""

    instructions: tuple[str, ...]
    """The ids of the instructions to try, in the order of the prompt."""

    evals: tuple[CoverEval, ...]
    """The evals, the likeliest to react first."""

    tries: Mapping[Removal, Tries]
    """The judged trials."""

    rule: CoverRule = field(default_factory=CoverRule)
    """What must be noticed."""

    earlier: tuple[EvalSearch, ...] = ()
    """Searches of an earlier state; those that have ended are not repeated."""

    searches: tuple[EvalSearch, ...] = field(init=False)
    """The search of each eval, as far as the trials go."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "searches", tuple(self._searches()))

    def _searches(self) -> list[EvalSearch]:
        parts, held, made = set(self.instructions), set[str](), []
        waiting = False
        for eval_ in self.evals:
            search = EvalSearch(eval=eval_, test=self._test(eval_), found=Found())
            made.append(search)
            if search.unusable is not None or waiting:
                continue
            search.parts = tuple(part for part in eval_.parts if part in parts and part not in held)
            if (ended := self._ended(search)) is not None:
                made[-1] = search = ended
            else:
                self._advance(search)
            held |= {by.parts[0] for by in search.held if by.holds}
            waiting = search.next is not None
        return made

    def _ended(self, search: EvalSearch) -> EvalSearch | None:
        """The same search of an earlier state, if it has ended."""
        ended = (old for old in self.earlier if old.next is None and (old.found.done or old.found.unsteady))
        return next(
            (old for old in ended if (old.eval, old.parts, old.test) == (search.eval, search.parts, search.test)), None
        )

    def after(self, tries: Mapping[Removal, Tries]) -> CoverState:
        """The state after further trials."""
        both = {**self.tries, **{key: self.tries.get(key, Tries()) + made for key, made in tries.items()}}
        return replace(self, tries=both, earlier=self.searches)

    def _test(self, eval_: CoverEval, *, strict: bool = False) -> RateChangeTest:
        low, high = baseline_ends(eval_.baseline.passed, eval_.baseline.failed)
        miss = (1 - self.rule.sure) / path_length(self.instructions)
        return RateChangeTest(
            low=low,
            high=high,
            change=self.rule.drop,
            false_alarm=self.rule.false_alarm if strict else GROUP_FALSE_ALARM,
            miss=miss / 10 if strict else miss,
            cap=self.rule.cap,
        )

    def _advance(self, eval_search: EvalSearch) -> None:
        """Go through a search as far as its trials go."""
        strict = self._test(eval_search.eval, strict=True)
        steps = search(eval_search.parts, eval_search.found)
        try:
            question = next(steps)
            while (answer := self._answer(eval_search, strict, question)) is not None:
                question = steps.send(answer)
        except StopIteration:
            pass
        eval_search.held = tuple(
            HeldBy(
                eval=eval_search.eval.name,
                parts=noticed.parts,
                change=noticed.change,
                before=eval_search.eval.baseline,
                after=(after := self._tries(eval_search.eval, frozenset(noticed.parts))),
                doubt=strict.doubt(*after, noticed.change),
            )
            for noticed in eval_search.found.noticed
        )

    def _answer(self, search: EvalSearch, strict: RateChangeTest, question: Question) -> RateDirection | None:
        """The answer to a question; None if it needs more trials, which are noted."""
        test = strict if question.strict else search.test
        tries = self._tries(search.eval, question.removed)
        answer = test.answer(*tries)
        if answer is None:
            search.next = NextTrials(eval=search.eval.name, removed=question.removed, trials=test.batch(*tries))
        return answer

    def _tries(self, eval_: CoverEval, removed: frozenset[str]) -> Tries:
        return self.tries.get((eval_.name, removed), Tries())

    def next(self) -> tuple[NextTrials, ...]:
        """The trials to run next; none if the search is complete."""
        return tuple(search.next for search in self.searches if search.next is not None)

    def held(self) -> tuple[HeldBy, ...]:
        """Everything that was noticed."""
        return tuple(by for search in self.searches for by in search.held)

    def untried(self, part: str) -> tuple[str, ...]:
        """The usable evals that might still notice an instruction."""
        return tuple(
            search.eval.name
            for search in self.searches
            if search.unusable is None and part in search.eval.parts and part not in search.found.cleared
        )

    def answer(self, part: str) -> InstructionAnswer:
        """The answer about one instruction."""
        by = [holder for holder in self.held() if part in holder.parts]
        if any(holder.holds for holder in by):
            return "held"
        if any(holder.change == "rise" for holder in by):
            return "harmful"
        if any(len(holder.parts) > 1 for holder in by):
            return "redundant"
        sent = any(part in search.eval.parts for search in self.searches if search.unusable is None)
        return "not held" if sent and not self.untried(part) else "not tried"

    def tried_alone(self) -> int:
        """How many answers about a single instruction might be false alarms."""
        return sum(len(removed) == 1 for _, removed in self.tries)

    def answers(self) -> Mapping[str, InstructionAnswer]:
        """The answer about each instruction."""
        return {part: self.answer(part) for part in self.instructions}


def covered(state: CoverState) -> tuple[int, range, int]:
    """How many instructions are held, the counts that are compatible with that (95 %), and how many were tried.

    An instruction that was not tried may be held or not.
    """
    answers = list(state.answers().values())
    held, untried = answers.count("held"), answers.count("not tried")
    tried = len(answers) - untried
    counts = true_count(
        held, of=tried, tested=state.tried_alone(), sure=state.rule.sure, false_alarm=state.rule.false_alarm
    )
    return held, range(counts.start, counts.stop + untried), tried


def order_evals(evals: Sequence[CoverEval], affinity: Mapping[str, float]) -> tuple[CoverEval, ...]:
    """The evals that are likeliest to react first: those that share most words with the instructions, then those whose
    rate is highest, which can drop furthest."""
    return tuple(
        sorted(
            evals,
            key=lambda eval_: (-affinity.get(eval_.name, 0.0), -baseline_ends(*eval_.baseline)[0], eval_.name),
        )
    )
