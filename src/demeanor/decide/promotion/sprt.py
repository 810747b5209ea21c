"""Promotion by the rule `sprt`: Wald's sequential probability ratio test over all nights. Its answer is final.

After every night, each enabled subject is tested on its own: good (99 %) or bad (93 %)? The eval is promoted when all
subjects are good. It is refused when one is bad, or undecided after 200 trials, and stays refused until it is edited.
The test of a good subject starts again, to detect a later drop before the promotion is applied. That makes refusals of
good evals more frequent the more subjects there are; `sprt_nights` calculates how frequent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from demeanor.core.text.percent import rate as percent, share
from demeanor.core.text.wording import count
from demeanor.core.values.error_rates import RATES, ErrorRates, Operating
from demeanor.core.values.policy import Policy
from demeanor.decide.nights.night_cells import ByRun, RunId
from demeanor.decide.promotion.candidate import Answer, Candidate
from demeanor.decide.promotion.incubation import Incubation, incubation
from demeanor.decide.promotion.sprt_nights import SubjectNight, ending, subject_nights
from demeanor.statistics import Sprt

NAME = "sprt"
TEST = Sprt(good=0.99, bad=0.93, miss_good=0.10, miss_bad=0.05)
MAX_TRIALS = 200
TRIALS = 3
"""Trials per night, for the error rates."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TestState:
    """The test of one subject."""

    answer: Literal["good", "bad", "open"]
    passed: int
    failed: int
    needed: int
    """Passes in a row that are needed for the answer good."""

    @property
    def score(self) -> str:
        """`45 of 47 passed`."""
        return f"{self.passed} of {self.passed + self.failed} passed"


def judge(name: str, cells: Mapping[str, ByRun], nights: Sequence[RunId], subjects: Sequence[str]) -> Candidate:
    """Decide on one eval."""
    state = incubation(cells, nights, subjects, Policy.USUALLY_PASSES)
    tests = {subject: subject_test(state, subject) for subject in subjects}
    bad = [subject for subject, test in tests.items() if test.answer == "bad"]
    waiting = {subject: test for subject, test in tests.items() if test.answer == "open" and not bad}
    final = "this is final until the eval or the model changes"
    missing = [f"{subject}: not good, {tests[subject].score}; {final}" for subject in bad]
    missing += [f"{subject}: {test.needed} more passes in a row, {test.score}" for subject, test in waiting.items()]
    missing += [] if subjects else ["no subject is enabled for it"]
    passes = max((test.needed for test in waiting.values()), default=0)
    trials = state.trials(state.counting)
    answer: Answer = "wait" if missing else "promote"
    return Candidate(
        eval=name,
        rule=NAME,
        answer="refuse" if bad else answer,
        reason="; ".join(f"{subject} {test.answer} ({test.score})" for subject, test in tests.items()) or missing[0],
        missing=tuple(missing),
        distance=math.ceil(passes / (trials or TRIALS)),
        nights=state.nights,
        counts={subject: (test.passed, test.passed + test.failed) for subject, test in tests.items()},
        trials=trials,
        changes=state.changes(state.counting),
    )


def error_rates(rates: Sequence[float] = RATES, *, subjects: int = 1, trials: int = TRIALS) -> ErrorRates:
    """How often an eval is promoted, given its true rate. Exact, if the rule is applied every night."""
    good, bad = (_nights(rate, trials) for rate in (TEST.good, TEST.bad))
    refused = 1 - ending([good] * subjects).promoted
    wrong = ending([*[good] * (subjects - 1), bad]).promoted
    endings = [(rate, ending([_nights(rate, trials)] * subjects)) for rate in rates]
    return ErrorRates(
        rule=NAME,
        action="promote",
        about=(
            f"good at {percent(TEST.good)}, bad at {percent(TEST.bad)}: with {count(subjects, 'subject')}, it refuses "
            f"{share(refused)} of the good evals and promotes {share(wrong)} of those with a bad subject; "
            f"{MAX_TRIALS} trials per subject at most"
        ),
        setting=f"{count(trials, 'trial')} a night, {count(subjects, 'subject')}, applied every night",
        rows=tuple(
            Operating(rate=rate, chance=outcome.promoted, trials=outcome.nights * trials * subjects)
            for rate, outcome in endings
        ),
        notes=(f"{TEST.passes_needed()} passes without a failure are enough, and the answer is final",),
    )


def _nights(rate: float, trials: int) -> Sequence[SubjectNight]:
    return subject_nights(after_night, rate, trials=trials, nights=MAX_TRIALS // trials + 1)


@cache
def after_night(proven: bool, passed: int, failed: int) -> tuple[bool, int, int] | None:
    """Whether the subject was proven good, with the trials of its next test; None if it is refused."""
    answer, over = TEST.answer(passed, failed), passed + failed > MAX_TRIALS
    if answer == "bad" or (over and answer is None and not proven):
        return None
    return (True, 0, 0) if answer == "good" or over else (proven, passed, failed)


def subject_test(incubation: Incubation, subject: str, *, final: bool = True) -> TestState:
    """The test of a subject over the nights that count. Unless it is `final`, a refusal starts it again."""
    passed = failed = 0
    state = (False, 0, 0)
    for run in incubation.counting:
        proven, tested_passed, tested_failed = state
        for cell in incubation.cells[subject].get(run[1], ()):
            passed, failed = passed + cell.passed, failed + cell.failed
            shown = max(0, cell.passed - cell.voided)  # void trials may be failures: they take away as many passes
            tested_passed, tested_failed = tested_passed + shown, tested_failed + cell.failed
        after = after_night(proven, tested_passed, tested_failed)
        if after is None and not final:
            after = False, 0, 0
        if after is None:
            return TestState(answer="bad", passed=passed, failed=failed, needed=0)
        state = after
    proven, tested_passed, tested_failed = state
    if proven:
        return TestState(answer="good", passed=passed, failed=failed, needed=0)
    return TestState(
        answer="open", passed=passed, failed=failed, needed=TEST.passes_needed(tested_passed, tested_failed)
    )
