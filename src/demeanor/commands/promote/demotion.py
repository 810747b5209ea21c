"""Must an eval that promises ALWAYS_PASSES promise less? Rules by name, the mirror image of promotion.

`seed` asks for what the promotion asked for: not one fail in the last seven nights. `cusum` asks whether the rate has
fallen: it forgives the single fail that even a 99 % eval has now and then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from demeanor.commands.gate.always import RATES
from demeanor.commands.promote.incubation import era_of
from demeanor.commands.promote.values import Candidate
from demeanor.core.error_rates import ErrorRates, Operating
from demeanor.core.percent import rate as percent
from demeanor.core.policy import Policy
from demeanor.core.text import count
from demeanor.statistics.cusum import Chart, chart
from demeanor.store.history.nights import ByRun, RunId

WINDOW = 7
TRIALS = 3
"""Trials per night, for the error rates and the chart's design."""

GOOD, BAD, BETWEEN_FALSE_ALARMS = 0.99, 0.90, 1000.0


def judge_seed(name: str, cells: Mapping[str, ByRun], nights: Sequence[RunId], subjects: Sequence[str]) -> Candidate:
    """One fail within the last seven nights breaks the promise."""
    era = era_of(cells, nights, subjects, Policy.ALWAYS_PASSES, least=WINDOW)
    window, latest = era.nights[-WINDOW:], tuple(nights[-WINDOW:])
    broken = [f"{n.run}: failed on {', '.join(s for s, state in n.states.items() if state == 'fail')}" for n in window]
    fails = tuple(told for told, night in zip(broken, window, strict=True) if "fail" in night.states.values())
    known = sum(night.complete for night in window)
    return Candidate(
        eval=name,
        rule="seed",
        answer="demote" if fails else "keep" if known else "wait",
        reason=f"{len(fails)} of the last {WINDOW} nights with a fail, {known} with all subjects judged",
        missing=fails,
        nights=window,
        counts={s: (p, p + f) for s in subjects for p, f in [era.counts(s, latest)]},
        changes=era.changes(latest),
    )


def judge_cusum(name: str, cells: Mapping[str, ByRun], nights: Sequence[RunId], subjects: Sequence[str]) -> Candidate:
    """An alarm of the chart on any enabled subject since the eval was promoted."""
    era = era_of(cells, nights, subjects, Policy.ALWAYS_PASSES)
    watch, alarms, judged = _chart(), [], 0
    for subject in subjects:
        total, began = 0, ""
        for run in era.counting:
            passed, failed = era.counts(subject, [run])
            judged += passed + failed
            began = run[1] if total == 0 else began
            total = watch.add(total, passed, failed)
            if total >= watch.limit:
                alarms.append(f"{subject}: lower since {began}, noticed with {run[1]}")
                break
    return Candidate(
        eval=name,
        rule="cusum",
        answer="demote" if alarms else "keep" if judged else "wait",
        reason=f"{len(alarms)} of {len(subjects)} subjects with an alarm in {len(era.counting)} nights",
        missing=tuple(alarms),
        nights=era.nights,
        counts={s: (p, p + f) for s in subjects for p, f in [era.counts(s, era.counting)]},
        changes=era.changes(era.counting),
    )


def seed_characteristics(rates: Sequence[float] = RATES, *, subjects: int = 1) -> ErrorRates:
    """How often an eval of a given rate is demoted by a single week."""
    return ErrorRates(
        rule="seed",
        action="demote",
        about=f"one fail on any enabled subject within the last {WINDOW} nights",
        setting=f"{TRIALS} trials a night, {count(subjects, 'subject')}, one week",
        rows=tuple(Operating(rate=rate, chance=1 - rate ** (TRIALS * WINDOW * subjects)) for rate in rates),
        notes=("a 99 % eval is demoted every fifth week: the rule asks for more than such an eval can give",),
    )


def cusum_characteristics(rates: Sequence[float] = RATES, *, subjects: int = 1) -> ErrorRates:
    """How soon an eval of a given rate is demoted."""
    watch = _chart()
    nights = {rate: watch.nights_to_alarm(rate, TRIALS) for rate in rates}
    soon = ", ".join(f"{nights[rate]:.3g} at {percent(rate)}" for rate in rates)
    return ErrorRates(
        rule="cusum",
        action="demote",
        about=f"a cumulative sum that watches for a fall from {percent(GOOD)} to {percent(BAD)}",
        setting=f"{TRIALS} trials a night, {count(subjects, 'subject')}, one week",
        rows=tuple(Operating(rate=rate, chance=_within_a_week(watch, rate, subjects)) for rate in rates),
        notes=(f"nights until the alarm, on average: {soon}",),
    )


def _within_a_week(watch: Chart, rate: float, subjects: int) -> float:
    return 1 - (1 - watch.alarm_within(rate, TRIALS, WINDOW)) ** subjects


def _chart() -> Chart:
    return chart(GOOD, BAD, trials=TRIALS, between_false_alarms=BETWEEN_FALSE_ALARMS)
