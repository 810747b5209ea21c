"""The rule `both`, the default: what `classic` promotes, if the sequential test of `sprt` finds every subject good too.

So an eval is never promoted on a lucky week, nor on evidence that the rule of seven nights would not accept. Unlike
with `sprt` alone a refusal is not final: the test starts again, because the agent may have been repaired since.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from demeanor.core.text.percent import rate as percent, share
from demeanor.core.text.wording import count
from demeanor.core.values.error_rates import RATES, ErrorRates, Operating
from demeanor.core.values.policy import Policy
from demeanor.decide.nights.night_cells import ByRun, RunId
from demeanor.decide.promotion import classic, sprt
from demeanor.decide.promotion.candidate import Candidate
from demeanor.decide.promotion.incubation import incubation
from demeanor.decide.promotion.waiting import WaitingTime, waiting_time

NAME = "both"
NIGHTS = 80
"""The latest nights, which are all that it looks at."""

TRIALS = 3
"""Trials per night, for the error rates."""


def judge(name: str, cells: Mapping[str, ByRun], nights: Sequence[RunId], subjects: Sequence[str]) -> Candidate:
    """Promote a USUALLY_PASSES eval if both rules would."""
    latest = nights[-NIGHTS:]
    streak = classic.judge_promotion(name, cells, latest, subjects)
    state = incubation(cells, latest, subjects, Policy.USUALLY_PASSES)
    tests = {subject: sprt.subject_test(state, subject, final=False) for subject in subjects}
    open_tests = {subject: test for subject, test in tests.items() if test.answer != "good"}
    missing = [f"{subject}: {test.needed} more passes in a row, {test.score}" for subject, test in open_tests.items()]
    trials = state.trials(state.counting)
    further = max((math.ceil(test.needed / (trials or TRIALS)) for test in open_tests.values()), default=0)
    return Candidate(
        eval=name,
        rule=NAME,
        answer="wait" if missing else streak.answer,
        reason=f"{streak.reason}; " + ("; ".join(f"{subject}: {test.score}" for subject, test in tests.items())),
        missing=(*streak.missing, *missing),
        distance=max(streak.distance, further),
        nights=streak.nights,
        counts={subject: (test.passed, test.passed + test.failed) for subject, test in tests.items()},
        trials=trials,
        changes=state.changes(state.counting),
    )


def error_rates(rates: Sequence[float] = RATES, *, subjects: int = 1, trials: int = TRIALS) -> ErrorRates:
    """How often an eval with one subject is promoted within 30 nights, given its true rate, and how long that takes."""
    times = {rate: waiting(rate, trials) for rate in rates}
    later = ", ".join(f"{share(time.within(60))} at {percent(rate)}" for rate, time in times.items() if rate >= 0.9)
    soon = ", ".join(f"{time.mean:.3g} at {percent(rate)}" for rate, time in times.items() if rate >= 0.95)
    bound = "" if subjects == 1 else f"; an eval with {count(subjects, 'subject')} at most as often"
    return ErrorRates(
        rule=NAME,
        action="promote",
        about=(
            f"the rule classic, and a test of {percent(sprt.TEST.good)} against {percent(sprt.TEST.bad)} that finds "
            "every subject good"
        ),
        setting=f"{count(trials, 'trial')} a night, one subject, applied every night for 30 nights{bound}",
        rows=tuple(Operating(rate=rate, chance=time.within(30)) for rate, time in times.items()),
        notes=(f"promoted within 60 nights: {later}", f"mean number of nights until the promotion: {soon}"),
    )


@lru_cache(maxsize=64)
def waiting(rate: float, trials: int) -> WaitingTime:
    """How long a subject with this true rate waits for its promotion."""
    return waiting_time(_START, _after_night, _acts, rate, trials=trials)


def nights_until(rate: float, trials: int) -> float:
    """The mean number of nights until the promotion."""
    return waiting(rate, trials).mean


_State: TypeAlias = tuple[int, int, tuple[bool, int, int]]
"""Nights of incubation, perfect nights in a row, and the state of the test."""

_START: _State = (0, 0, (False, 0, 0))


def _after_night(state: _State, passed: int, failed: int) -> _State:
    nights, streak, (proven, tested_passed, tested_failed) = state
    tested = sprt.after_night(proven, tested_passed + passed, tested_failed + failed) or (False, 0, 0)
    return min(nights + 1, classic.INCUBATION), 0 if failed else min(streak + 1, classic.WINDOW), tested


def _acts(state: _State) -> bool:
    nights, streak, (proven, _, _) = state
    return nights == classic.INCUBATION and streak == classic.WINDOW and proven
