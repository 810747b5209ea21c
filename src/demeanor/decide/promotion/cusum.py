"""Demotion by the rule `cusum`: a cumulative sum chart that detects a drop of the pass rate.

Unlike `classic`, it tolerates the occasional failure that even a 99 % eval has. Its limit rises with the correlation of
the trials of a night, so that one bad night is no drop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from demeanor.core.text.percent import rate as percent
from demeanor.core.text.wording import count
from demeanor.core.values.error_rates import RATES, ErrorRates, Operating
from demeanor.core.values.policy import Policy
from demeanor.decide.nights.night_cells import ByRun, RunId
from demeanor.decide.promotion.candidate import Answer, Candidate
from demeanor.decide.promotion.incubation import incubation
from demeanor.statistics import Chart, chart

NAME = "cusum"
NIGHTS = 7
"""Nights that the error rates are calculated for."""

TRIALS = 3
"""Trials per night, for the error rates and the design of the chart."""

GOOD, BAD, BETWEEN_FALSE_ALARMS = 0.99, 0.90, 1000.0


def judge(
    name: str,
    cells: Mapping[str, ByRun],
    nights: Sequence[RunId],
    subjects: Sequence[str],
    *,
    correlation: float = 0.0,
) -> Candidate:
    """Demote if the chart of any enabled subject raised an alarm since the eval was promoted."""
    state = incubation(cells, nights, subjects, Policy.ALWAYS_PASSES)
    cusum, alarms, judged = _chart(correlation), [], 0
    for subject in subjects:
        total, began = 0, ""
        for run in state.counting:
            passed, failed = state.counts(subject, [run])
            judged += passed + failed
            began = run[1] if total == 0 else began
            total = cusum.add(total, passed, failed)
            if total >= cusum.limit:
                alarms.append(f"{subject}: lower since {began}, detected in {run[1]}")
                break
    answer: Answer = "keep" if judged else "wait"
    return Candidate(
        eval=name,
        rule=NAME,
        answer="demote" if alarms else answer,
        reason=(
            f"{len(alarms)} of {count(len(subjects), 'subject')} with an alarm in {count(len(state.counting), 'night')}"
        ),
        missing=tuple(alarms),
        nights=state.nights,
        counts={s: (p, p + f) for s in subjects for p, f in [state.counts(s, state.counting)]},
        trials=state.trials(state.counting),
        changes=state.changes(state.counting),
    )


def error_rates(rates: Sequence[float] = RATES, *, subjects: int = 1, trials: int = TRIALS) -> ErrorRates:
    """How soon an eval is demoted, given its true rate."""
    cusum = _chart()
    nights = {rate: cusum.nights_to_alarm(rate, trials) for rate in rates}
    soon = ", ".join(f"{nights[rate]:.3g} at {percent(rate)}" for rate in rates)
    return ErrorRates(
        rule=NAME,
        action="demote",
        about=f"a cumulative sum chart that detects a drop from {percent(GOOD)} to {percent(BAD)}",
        setting=f"{count(trials, 'trial')} a night, {count(subjects, 'subject')}, one week; trials are independent",
        rows=tuple(Operating(rate=rate, chance=_within_a_week(cusum, rate, subjects, trials)) for rate in rates),
        notes=(f"mean number of nights until the alarm of one subject: {soon}",),
    )


def nights_until(rate: float, trials: int) -> float:
    """The mean number of nights until an eval with one subject is demoted."""
    return _chart().nights_to_alarm(rate, trials)


def _within_a_week(cusum: Chart, rate: float, subjects: int, trials: int) -> float:
    return 1 - (1 - cusum.alarm_within(rate, trials, NIGHTS)) ** subjects


def _chart(correlation: float = 0.0) -> Chart:
    return chart(GOOD, BAD, trials=TRIALS, between_false_alarms=BETWEEN_FALSE_ALARMS, correlation=correlation)
