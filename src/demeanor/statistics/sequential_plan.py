"""The optimal sequential plan: after which passes and failures to accept, to reject, or to run another trial.

A plan trades three things: trials at the healthy rate, false alarms at the healthy rate, and misses at the dropped
rates. With a price for each error, counted in trials, the cheapest plan follows exactly from dynamic programming,
backwards from the last trial (Wald; Lagrange multipliers). No other plan has fewer expected trials at the same error
rates. The healthy rate may be known only as a distribution. All trials are of one occasion, so they may be correlated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Literal, TypeAlias

from demeanor.statistics.occasions import likelihood

Answer: TypeAlias = Literal["accept", "reject"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Weighted:
    """A pass rate and its weight: a probability, or the price of an error at this rate."""

    rate: float
    """The pass rate."""

    weight: float
    """Its weight."""

    def of(self, passed: int, failed: int, correlation: float = 0.0) -> float:
        """The weighted likelihood of these trials."""
        return self.weight * likelihood(passed, failed, self.rate, correlation)


@dataclass(frozen=True, kw_only=True, slots=True)
class SequentialPlan:
    """What to do after some passes and failures."""

    cap: int
    """The largest number of trials."""

    answers: Mapping[tuple[int, int], Answer]
    """(passed, failed) → the answer; without one, the plan runs another trial."""

    doubts: Mapping[tuple[int, int], float]
    """(passed, failed) → how uncertain an answer would be: 0 to 1."""

    def stop(self, passed: int, failed: int) -> Answer | None:
        """The answer after these trials; None to continue."""
        return self.answers.get((passed, failed))

    def follow(self, outcomes: Sequence[bool], *, start: int = 0) -> tuple[int, Answer | None]:
        """The first answer after at least `start` trials, and the number of trials it took; later ones are ignored."""
        passed = sum(outcomes[:start])
        for seen in range(start, len(outcomes) + 1):
            passed += seen > start and outcomes[seen - 1]
            answer = self.stop(passed, seen - passed)
            if answer is not None:
                return seen, answer
        return len(outcomes), None

    def fewest(self, passed: int, failed: int) -> int:
        """The smallest number of further trials after which the plan can stop."""
        return next(
            more
            for more in range(self.cap + 1)
            if any(self.stop(passed + good, failed + more - good) for good in range(more + 1))
        )


def optimal_plan(
    *,
    healthy: Sequence[Weighted],
    dropped: Sequence[Weighted],
    false_alarm: float,
    cap: int,
    first: int = 1,
    correlation: float = 0.0,
) -> SequentialPlan:
    """The plan with the smallest expected cost, in trials.

    A trial at a `healthy` rate costs 1, a false alarm `false_alarm`, a miss at a `dropped` rate its weight. The plan
    accepts after `first` trials at the earliest, and has an answer after `cap` at the latest.
    """
    answers: dict[tuple[int, int], Answer] = {}
    doubts: dict[tuple[int, int], float] = {}
    ahead: list[float] = []  # the cost of going on from each state with one more trial, by failures
    for trials in range(cap, -1, -1):
        costs = []
        for failed in range(trials + 1):
            passed = trials - failed
            trial = fsum(weighted.of(passed, failed, correlation) for weighted in healthy)
            reject, accept = false_alarm * trial, fsum(weighted.of(passed, failed, correlation) for weighted in dropped)
            going_on = trial + ahead[failed] + ahead[failed + 1] if ahead else float("inf")
            best = reject if trials < first else min(accept, reject)
            if best <= going_on:
                answers[passed, failed] = "accept" if best == accept and trials >= first else "reject"
            doubts[passed, failed] = 2 * min(accept, reject) / (accept + reject)
            costs.append(min(best, going_on))
        ahead = costs
    return SequentialPlan(cap=cap, answers=answers, doubts=doubts)
