"""Promotion by Wald's sequential test: evidence is carried from night to night, and the answer is final.

Each enabled subject is tested on its own after every night: good (99 %) or bad (93 %)? The eval is promoted when all
are good, and refused when one is bad or stays open for too long; refused stays refused until the eval changes. After a
subject was found good its test starts anew, so that a later decay is noticed before anybody applies the promotion.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from demeanor.commands.gate.always import RATES
from demeanor.commands.promote.incubation import Incubation, era_of
from demeanor.commands.promote.values import Candidate
from demeanor.core.error_rates import ErrorRates, Operating
from demeanor.core.percent import rate as percent
from demeanor.core.policy import Policy
from demeanor.core.text import count
from demeanor.statistics.sprt import Sprt
from demeanor.store.history.nights import ByRun, RunId

TEST = Sprt(good=0.99, bad=0.93, miss_good=0.10, miss_bad=0.05)
CAP = 200
TRIALS = 3
"""Trials per night, for the error rates."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Standing:
    answer: Literal["good", "bad", "open"]
    passed: int
    failed: int
    needed: int
    """Passes in a row that would make it good."""


def judge(name: str, cells: Mapping[str, ByRun], nights: Sequence[RunId], subjects: Sequence[str]) -> Candidate:
    """Hold the nights of one eval against the rule."""
    era = era_of(cells, nights, subjects, Policy.USUALLY_PASSES)
    standing = {subject: _test(era, subject) for subject in subjects}
    bad = [subject for subject, one in standing.items() if one.answer == "bad"]
    waiting = {subject: one for subject, one in standing.items() if one.answer == "open"}
    missing = [f"{subject}: not good, {_score(standing[subject])}" for subject in bad]
    missing += [f"{subject}: {one.needed} more passes in a row, {_score(one)}" for subject, one in waiting.items()]
    missing += [] if subjects else ["no subject is enabled for it"]
    passes = max((one.needed for one in waiting.values()), default=0)
    return Candidate(
        eval=name,
        rule="sprt",
        answer="refuse" if bad else "wait" if missing else "promote",
        reason="; ".join(f"{subject} {one.answer} ({_score(one)})" for subject, one in standing.items()) or missing[0],
        missing=tuple(missing),
        distance=math.ceil(passes / TRIALS),
        nights=era.nights,
        counts={subject: (one.passed, one.passed + one.failed) for subject, one in standing.items()},
        changes=era.changes(era.counting),
    )


def characteristics(rates: Sequence[float] = RATES, *, subjects: int = 1) -> ErrorRates:
    """How often an eval of a given rate is promoted."""
    found = [(rate, TEST.operation(rate, cap=CAP + 1, batch=TRIALS)) for rate in rates]
    return ErrorRates(
        rule="sprt",
        action="promote",
        about=(
            f"good at {percent(TEST.good)}, bad at {percent(TEST.bad)}: about {percent(TEST.miss_good)} of the good "
            f"refused and {percent(TEST.miss_bad)} of the bad promoted; {CAP} trials at most"
        ),
        setting=f"{TRIALS} trials a night, {count(subjects, 'subject')}, asked every night",
        rows=tuple(
            Operating(rate=rate, chance=one.chance("good") ** subjects, trials=one.trials) for rate, one in found
        ),
        notes=(f"{TEST.passes_needed()} passes without a fail are enough, and the answer is final",),
    )


def _test(era: Incubation, subject: str) -> _Standing:
    passed = failed = tested_passed = tested_failed = 0
    proven = False
    for run in era.counting:
        for cell in era.cells[subject].get(run[1], ()):
            passed, failed = passed + cell.passed, failed + cell.failed
            tested_passed, tested_failed = tested_passed + cell.passed, tested_failed + cell.failed
        answer = TEST.answer(tested_passed, tested_failed)
        if answer == "bad" or (answer is None and not proven and tested_passed + tested_failed > CAP):
            return _Standing(answer="bad", passed=passed, failed=failed, needed=0)
        if answer == "good" or tested_passed + tested_failed > CAP:
            proven, tested_passed, tested_failed = True, 0, 0
    if proven:
        return _Standing(answer="good", passed=passed, failed=failed, needed=0)
    return _Standing(
        answer="open", passed=passed, failed=failed, needed=TEST.passes_needed(tested_passed, tested_failed)
    )


def _score(one: _Standing) -> str:
    return f"{one.passed} of {one.passed + one.failed} passed"
