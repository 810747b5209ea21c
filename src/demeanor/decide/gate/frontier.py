"""The plan of a cell: optimal for what its own history says about its healthy rate.

The history enters as a distribution of the healthy rate. Without any, the gate expects 95 %, which most USUALLY_PASSES
evals reach or exceed. Lower rates start with little weight, which grows with the history: one unlucky night hardly
changes the plan, and nights that clearly show another rate do.

All trials of a gate are of one occasion, as those of a night are: plans and error rates depend on their correlation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp, fsum, log

from demeanor.core.values.error_rates import Operating
from demeanor.decide.gate.effort import LARGE_DROP, SMALL_DROP, Effort
from demeanor.statistics import (
    SequentialPlan,
    Stop,
    Weighted,
    combined,
    next_pass,
    occasion,
    operate,
    optimal_plan,
    table,
)

EXPECTED = 0.95
"""The healthy rate of an eval without a history."""

_OTHERS = (0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)
_MIN_SHARE, _MAX_SHARE, _SHARE_PER_TRIAL = 0.005, 0.03, 0.001
"""The prior weight of all other rates together, and how it grows with the history."""

_PSEUDO_TRIALS = 10
"""How many trials at the expected rate are added to a history to estimate its rate."""

_DOUBTFUL, _SURPRISING = 0.05, 0.005
"""A result that a healthy cell has at most so often is not accepted before the last trial, and not at all."""

_NEGLIGIBLE = 1e-9
_DEARER, _MAX_PRICE = 1.2, 1e5


@dataclass(frozen=True, kw_only=True, slots=True)
class CellRates:
    """The exact error rates of a cell's plan, for its own history."""

    healthy: Operating
    """At the healthy rate that the history shows: the rate of false alarms, and the mean number of trials."""

    small_drop: Operating
    """After a drop by a sixth, as from 95 % to 80 %: the chance to detect it."""

    large_drop: Operating
    """After a drop by almost a half, as from 95 % to 50 %: the chance to detect it."""


@lru_cache(maxsize=4096)
def healthy_rates(passed: float, failed: float) -> tuple[Weighted, ...]:
    """The healthy rate of a cell, as a distribution, after a history of so many passes and failures."""
    others = min(_MAX_SHARE, _MIN_SHARE + _SHARE_PER_TRIAL * (passed + failed))
    prior = [(EXPECTED, 1 - others), *((rate, others / len(_OTHERS)) for rate in _OTHERS)]
    logs = [log(weight) + passed * log(rate) + failed * log(1 - rate) for rate, weight in prior]
    highest = max(logs)
    weights = [exp(value - highest) for value in logs]
    total = fsum(weights)
    return tuple(
        Weighted(rate=rate, weight=weight / total) for (rate, _), weight in zip(prior, weights, strict=True) if weight
    )


def expected_rate(passed: float, failed: float) -> float:
    """The rate that the history shows, in whole percent, shrunk towards 95 % if it is short."""
    shrunk = (passed + EXPECTED * _PSEUDO_TRIALS) / (passed + failed + _PSEUDO_TRIALS)
    return min(round(shrunk, 2), 0.99)


@lru_cache(maxsize=4096)
def plan_after(passed: float, failed: float, effort: Effort, correlation: float = 0.0) -> SequentialPlan:
    """The optimal plan of a cell, after a history of so many passes and failures.

    A false alarm costs as much as the effort says, or more where a plan would have too many: with a low rate, a short
    history, or correlated trials. Then it still does not accept what the history makes surprising.
    """
    healthy = [weighted for weighted in healthy_rates(passed, failed) if weighted.weight > _NEGLIGIBLE]
    drops = ((SMALL_DROP, effort.small_drop), (LARGE_DROP, effort.large_drop))
    dropped = [
        Weighted(rate=weighted.rate * left, weight=weighted.weight * price)
        for left, price in drops
        for weighted in healthy
    ]
    trials = passed + failed + _PSEUDO_TRIALS
    rate, unknown = (passed + EXPECTED * _PSEUDO_TRIALS) / trials, 1 / (trials + 1)
    price, alike = effort.false_alarm, combined(correlation, unknown)
    while True:
        plan = optimal_plan(
            healthy=healthy,
            dropped=dropped,
            false_alarm=price,
            cap=effort.cap,
            first=effort.first,
            correlation=correlation,
        )
        if price > effort.false_alarm:
            plan = _without_surprises(plan, rate, alike)
        alarms = operating(plan.stop, rate, cap=plan.cap, correlation=alike)
        if not passed + failed or alarms.chance <= effort.most_false_alarms or price > _MAX_PRICE:
            return plan
        price *= _DEARER


def _without_surprises(plan: SequentialPlan, rate: float, correlation: float) -> SequentialPlan:
    """The plan without accepting so few passes as a cell of this rate hardly ever has: few nights leave low rates open,
    and with dear false alarms, a plan would accept any result for these."""
    answers = dict(plan.answers)
    for (passed, failed), answer in plan.answers.items():
        if answer == "accept":
            chance = fsum(occasion(passed + failed, rate, correlation)[: passed + 1])
            if chance <= _SURPRISING:
                answers[passed, failed] = "reject"
            elif chance <= _DOUBTFUL and passed + failed < plan.cap:
                del answers[passed, failed]
    return replace(plan, answers=answers)


@lru_cache(maxsize=4096)
def cell_rates(
    passed: float, failed: float, effort: Effort, correlation: float = 0.0, *, confirm: int = 0
) -> CellRates:
    """The error rates of that plan, for the rate that the history shows."""
    plan, expected = plan_after(passed, failed, effort, correlation), expected_rate(passed, failed)
    healthy, small, large = (
        operating(plan.stop, round(expected * left, 2), cap=plan.cap, correlation=correlation, confirm=confirm)
        for left in (1.0, SMALL_DROP, LARGE_DROP)
    )
    return CellRates(healthy=healthy, small_drop=small, large_drop=large)


def operating(stop: Stop, rate: float, *, cap: int, correlation: float = 0.0, confirm: int = 0) -> Operating:
    """How often a rule rejects a cell of this true rate, and its mean number of trials.

    With `confirm`, one of so many fresh trials must fail too. The trials have this correlation.
    """
    operation = operate(stop, rate, cap=cap, correlation=correlation)
    rejected, trials = operation.chance("reject"), operation.trials
    for (passed, failed), chance in operation.ends.items() if confirm else ():
        if stop(passed, failed) == "reject":
            left = chance
            for fresh in range(passed, passed + confirm):
                trials += left
                left *= next_pass(fresh, failed, rate, correlation)
            rejected -= left
    return Operating(rate=rate, chance=rejected, trials=trials)


def average_rates(
    rates: Sequence[float], *, past: int, base: float, effort: Effort, correlation: float = 0.0
) -> tuple[Operating, ...]:
    """The error rates, averaged over all histories of `past` independent trials at the healthy rate `base`."""
    histories = [
        (weight, plan_after(passed, past - passed, effort, correlation))
        for passed, weight in enumerate(table(past, base))
        if weight > _NEGLIGIBLE
    ]
    rows = []
    for rate in rates:
        operations = [
            (weight, operate(plan.stop, rate, cap=plan.cap, correlation=correlation)) for weight, plan in histories
        ]
        rows.append(
            Operating(
                rate=rate,
                chance=fsum(weight * operation.chance("reject") for weight, operation in operations),
                trials=fsum(weight * operation.trials for weight, operation in operations),
            )
        )
    return tuple(rows)
