"""What reports state of their own errors, beside the truth: by simulation, through the product's own functions.

Every `Claim` has the figure that a report states and the true one for cells of a known rate. `make bench-signal` fails
if one does not hold. The correlation of the trials of a night is not known to the product here: it is estimated from
ten nights of a suite of `SUITE` cells, as it is in a project.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import median
from typing import Any

import numpy as np
from benchmarks.nightly_scan import draw, scan
from numpy.typing import NDArray

from demeanor.core.text.percent import rate as percent, share
from demeanor.core.values.history import RunCell
from demeanor.core.values.policy import Policy
from demeanor.decide.comparison import compare
from demeanor.decide.gate import (
    STANDARD,
    GateAnswer,
    GateCell,
    always,
    check_in,
    gate,
    gate_suite,
    next_trials,
    optimal,
)
from demeanor.decide.gate.effort import LARGE_DROP, SMALL_DROP
from demeanor.decide.gate.frontier import operating, plan_after
from demeanor.decide.gate.suite import SuiteRates
from demeanor.decide.nights import Baseline
from demeanor.decide.promotion import policy_rule, promote
from demeanor.decide.promotion.cusum import BAD, BETWEEN_FALSE_ALARMS, GOOD
from demeanor.statistics import NIGHTS_BETWEEN_FALSE_ALARMS, chart, night_correlation, table

FACTOR = 1.5
"""The truth is within this factor of what is stated; of correlated trials, false alarms are at most so much more."""

NEGLIGIBLE = 0.01
"""Rates of blocked changes below this are the same to a reader."""

SUITE, NIGHTS, TRIALS = 60, 10, 3
CORRELATIONS = (0.0, 0.05, 0.1, 0.2)
RATES = (0.7, 0.9, 0.95, 0.99)
SIZES = (20, 150, 500)
SUITE_RATES = (0.999, 0.99, 0.97, 0.95, 0.9, 0.7)
PASTS = (0, 3, 60)
CONFIRM = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A figure that the product states, and the truth."""

    about: str
    """What it is about."""

    stated: str
    """What is stated."""

    truth: str
    """The truth."""

    holds: bool
    """Whether the truth is as near as it should be."""


def claims() -> Iterator[Claim]:
    """All claims."""
    for policy in (Policy.USUALLY_PASSES, Policy.ALWAYS_PASSES):
        for past in PASTS:
            for cells in SIZES:
                yield from (suite_claim(policy, past, cells, rate) for rate in SUITE_RATES)
    for rate in RATES:
        for rho in CORRELATIONS:
            yield from correlated_claims(rate, rho)
    for rule in ("both", "classic"):
        yield from (promotion_claim(rule, rate) for rate in (0.99, 0.97, 0.9))
    yield from (detection_claim(left) for left in (SMALL_DROP, LARGE_DROP))


# How often a gate blocks a healthy change.


def suite_claim(policy: Policy, past: int, cells: int, rate: float) -> Claim:
    """The median of what gates state, and how often they block a healthy change; where trials are few, the range."""
    truth = max(NEGLIGIBLE, blocked(policy, past, cells, rate))
    rng = np.random.default_rng(2)
    played = [played_suite(policy, past, cells, rate, rng) for _ in range(15 if cells < 500 else 5)]
    stated = max(NEGLIGIBLE, median(one.blocks for one in played))
    ranges = [one for one in played if one.vague]
    inside = sum(one.least <= truth and one.most >= min(truth, 0.99) for one in ranges)
    near = truth / FACTOR <= stated <= FACTOR * truth
    return Claim(
        about=f"{cells} {policy.name} cells at {percent(rate)} with {past} trials in the past: blocked healthy changes",
        stated=f"{share(stated)}" + (f" ({len(ranges)} of {len(played)} as a range)" if ranges else ""),
        truth=share(truth),
        holds=near or (len(ranges) > len(played) / 2 and inside >= 0.6 * len(ranges)),
    )


def played_suite(policy: Policy, past: int, cells: int, rate: float, rng: np.random.Generator) -> SuiteRates:
    """What a gate of healthy cells states in the end."""
    passed = rng.binomial(past, rate, cells)
    pasts = [_baseline(int(own), past) for own in passed]
    outcomes: list[tuple[bool, ...]] = [()] * cells
    while True:
        answers = gate(
            [
                GateCell(eval=f"e{i}", subject="a:m", policy=policy, outcomes=outcomes[i], past=pasts[i])
                for i in range(cells)
            ],
            confirm=CONFIRM,
        )
        if not next_trials(answers):
            break
        for i, answer in enumerate(answers):
            outcomes[i] += tuple(bool(one) for one in rng.random(answer.more) < rate)
    found = gate_suite(answers, confirm=CONFIRM)
    assert found is not None
    return found.now


def _baseline(passed: int, past: int) -> Baseline | None:
    return Baseline(passed=passed, failed=past - passed, nights=past // TRIALS) if past else None


@lru_cache
def blocked(policy: Policy, past: int, cells: int, rate: float) -> float:
    """How often it does block one: exactly, over all histories."""
    if policy is Policy.ALWAYS_PASSES:
        chance = operating(always.verdict, rate, cap=always.TRIALS, confirm=CONFIRM).chance
    elif past < 2 * TRIALS:
        chance = operating(check_in.verdict, rate, cap=check_in.TRIALS, confirm=CONFIRM).chance
    else:
        plans = [(weight, plan_after(own, past - own, STANDARD)) for own, weight in enumerate(table(past, rate))]
        chance = sum(
            weight * operating(plan.stop, rate, cap=plan.cap, confirm=CONFIRM).chance
            for weight, plan in plans
            if weight > 1e-9
        )
    return float(1 - (1 - chance) ** cells)


# Trials of a night that are alike.


def correlated_claims(rate: float, rho: float) -> Iterator[Claim]:
    """The scan of nights, the gate, a comparison, and demotion."""
    who = f"{percent(rate)}, correlation {rho:g}"
    nights = nights_between_alarms(rate, rho)
    yield Claim(
        about=f"scan of nights at {who}: nights between false alarms",
        stated=f"≥ {NIGHTS_BETWEEN_FALSE_ALARMS}",
        truth=f"{nights:.0f}",
        holds=nights >= NIGHTS_BETWEEN_FALSE_ALARMS / FACTOR,
    )
    stated, truth = gate_alarms(rate, rho)
    yield Claim(
        about=f"gate at {who}: false alarms of a cell",
        stated=share(stated),
        truth=share(truth),
        holds=truth <= FACTOR * max(stated, 0.001),
    )
    worse = false_comparisons(rate, rho)
    yield Claim(
        about=f"compare, two runs of ten trials at {who}: worse without a change",
        stated="≤ 7.5 %",
        truth=share(worse),
        holds=worse <= FACTOR * 0.075,
    )
    if rate == GOOD:
        until = nights_until_demotion(rho)
        yield Claim(
            about=f"demotion at {who}: nights until a false alarm",
            stated=f"≥ {BETWEEN_FALSE_ALARMS:.0f}",
            truth=f"{until:.0f}",
            holds=until >= BETWEEN_FALSE_ALARMS / FACTOR,
        )


@lru_cache
def suites(rate: float, rho: float, number: int = 15) -> tuple[NDArray[Any], ...]:
    """Passed trials by cell and night, for some suites."""
    return tuple(draw([rate] * NIGHTS, SUITE, correlation=rho, seed=seed)[:, 0] for seed in range(number))


def estimated(passed: NDArray[Any]) -> float:
    """The correlation that the nights of a suite show."""
    return night_correlation([[(int(own), TRIALS) for own in cell] for cell in passed]).value


@lru_cache
def expected(rate: float, rho: float) -> float:
    """The median of that estimate."""
    return median(estimated(passed) for passed in suites(rate, rho))


@lru_cache
def nights_between_alarms(rate: float, rho: float, histories: int = 1200) -> float:
    """Of the scan, with the estimated correlation."""
    alarms = scan(draw([rate] * 150, histories, correlation=rho), correlation=expected(rate, rho)).alarms
    return float(alarms.size / max(1, alarms.sum()))


@lru_cache
def nights_to_find(rate: float, rho: float, histories: int = 1200) -> float:
    """The mean number of nights until a fall to a half is found after ten good nights; not found is sixty."""
    passed = draw([rate] * NIGHTS + [rate / 2] * 60, histories, correlation=rho)
    falls = scan(passed, correlation=expected(rate, rho)).falls[:, NIGHTS:]
    return float(np.where(falls.any(axis=1), falls.argmax(axis=1) + 1, 60).mean())


def gate_alarms(rate: float, rho: float) -> tuple[float, float]:
    """Of a cell: what a gate states by its nights, and the truth for the same plans."""
    stated, truth = [], []
    for passed in suites(rate, rho):
        answers, correlation = gate_after(passed), estimated(passed)
        suite = gate_suite(answers, confirm=0, correlation=correlation)
        assert suite is not None
        stated.append(1 - (1 - min(suite.now.blocks, 1 - 1e-12)) ** (1 / SUITE))
        for answer in answers:
            plan = plan_after(*optimal.history(answer.cell, correlation), STANDARD, correlation)
            truth.append(operating(plan.stop, rate, cap=plan.cap, correlation=rho).chance)
    return float(np.mean(stated)), float(np.mean(truth))


def gate_after(passed: NDArray[Any]) -> Sequence[GateAnswer]:
    """The answers of a gate whose cells have these nights."""
    judged = passed.shape[1] * TRIALS
    cells = [
        GateCell(
            eval=f"e{number}",
            subject="a:m",
            policy=Policy.USUALLY_PASSES,
            outcomes=(True,) * 3,
            past=Baseline(passed=(good := int(own.sum())), failed=judged - good, nights=passed.shape[1]),
        )
        for number, own in enumerate(passed)
    ]
    return gate(cells, correlation=estimated(passed))


def false_comparisons(rate: float, rho: float, times: int = 60) -> float:
    """How often one of two runs of the same evals, at other times, is called worse."""
    found = 0
    for time in range(times):
        sides = [draw([rate], SUITE, trials=10, correlation=rho, seed=2 * time + side)[:, 0, 0] for side in (0, 1)]
        base, new = ([_cell(number, int(good), 10) for number, good in enumerate(side)] for side in sides)
        found += compare(base, new, correlation=expected(rate, rho)).answer == "worse"
    return found / times


def _cell(number: int, passed: int, judged: int) -> RunCell:
    return RunCell(
        run="r",
        started="",
        kind="nightly",
        eval=str(number),
        subject="a:m",
        policy=Policy.USUALLY_PASSES,
        passed=passed,
        failed=judged - passed,
    )


def nights_until_demotion(rho: float) -> float:
    """Of a good eval, by a chart that was made for the estimated correlation."""
    made = chart(GOOD, BAD, trials=TRIALS, between_false_alarms=BETWEEN_FALSE_ALARMS, correlation=expected(GOOD, rho))
    return replace(made, correlation=rho).nights_to_alarm(GOOD, TRIALS)


# Promotions, and what a gate detects.


def promotion_claim(rule: str, rate: float, histories: int = 150, nights: int = 30) -> Claim:
    """How often an eval is promoted within thirty nights, if the rule is applied every night."""
    (stated,) = policy_rule("promote", rule).error_rates((rate,)).rows
    passed = np.random.default_rng(3).binomial(TRIALS, rate, (histories, nights))
    return _simulated(
        f"promotion by {rule} at {percent(rate)} within {nights} nights",
        stated.chance,
        [any(_promoted(own[:last], rule) for last in range(10, nights + 1)) for own in passed],
    )


def _promoted(passed: NDArray[Any], rule: str) -> bool:
    cells = [
        replace(_cell(0, int(good), TRIALS), run=f"{night:02}", started=f"{night:02}")
        for night, good in enumerate(passed)
    ]
    return promote(cells, {"0": ["a:m"]}, rule=rule)[0].answer == "promote"


def detection_claim(left: float, gates: int = 400) -> Claim:
    """How often a gate blocks a change after which a cell passes only a part as often, confirmation included."""
    rng = np.random.default_rng(4)
    played = [played_gate(0.95 * left, rng) for _ in range(gates)]
    found = gate_suite(played[0], confirm=CONFIRM)
    assert found is not None
    stated = found.now.small_drop if left == SMALL_DROP else found.now.large_drop
    assert stated is not None
    return _simulated(
        f"gate: a drop of one cell from 95 to {percent(0.95 * left)} is detected",
        stated,
        [answers[0].decision.answer == "reject" for answers in played],
    )


def played_gate(rate: float, rng: np.random.Generator) -> Sequence[GateAnswer]:
    """The answer of a gate about one cell that passed 57 of 60 trials at night, and now passes at this rate."""
    past = Baseline(passed=57, failed=3, nights=20)
    outcomes: tuple[bool, ...] = ()
    while True:
        cell = GateCell(eval="e", subject="a:m", policy=Policy.USUALLY_PASSES, outcomes=outcomes, past=past)
        answers = gate([cell], confirm=CONFIRM)
        if not next_trials(answers):
            return answers
        outcomes += tuple(bool(one) for one in rng.random(answers[0].more) < rate)


def _simulated(about: str, stated: float, happened: Sequence[bool]) -> Claim:
    """Holds within three standard errors of the simulation, and a twentieth."""
    truth = float(np.mean(happened))
    error = (max(stated * (1 - stated), 0.01) / len(happened)) ** 0.5
    return Claim(about=about, stated=share(stated), truth=share(truth), holds=abs(truth - stated) <= 3 * error + 0.05)


def correlation_table() -> Iterator[str]:
    """What correlated trials cost."""
    yield (
        "| true rate | correlation | estimated | nights between false alarms | a fall to a half is found after "
        "| a gate's false alarms: stated | true |"
    )
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for rate in RATES:
        for rho in CORRELATIONS:
            stated, truth = gate_alarms(rate, rho)
            yield (
                f"| {percent(rate)} | {rho:g} | {expected(rate, rho):.2f} | {nights_between_alarms(rate, rho):.0f} "
                f"| {nights_to_find(rate, rho):.1f} nights | {share(stated)} | {share(truth)} |"
            )


def broken(every: Callable[[], Iterator[Claim]] = claims) -> list[Claim]:
    """The claims that do not hold, after all of them are printed."""
    found = []
    for claim in every():
        print(f"{'   ' if claim.holds else '!!!'} {claim.about}: stated {claim.stated}, true {claim.truth}", flush=True)
        if not claim.holds:
            found.append(claim)
    return found
