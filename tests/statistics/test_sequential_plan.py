"""`demeanor.statistics.sequential_plan`: the plan with the smallest expected cost."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest

from demeanor.statistics.operating import operate
from demeanor.statistics.sequential_plan import SequentialPlan, Weighted, optimal_plan

GOOD, BAD, PRICE, CAP = 0.9, 0.5, 8.0, 3


def cost(stop: dict[tuple[int, int], str]) -> float:
    """The expected cost of a plan: trials and false alarms at the good rate, misses at the bad one."""
    if (0, 0) in stop:
        return PRICE if stop[0, 0] == "reject" else 10.0
    good, bad = (operate(lambda passed, failed: stop.get((passed, failed)), rate, cap=CAP) for rate in (GOOD, BAD))
    return good.trials + PRICE * good.chance("reject") + 10.0 * bad.chance("accept")


def every_plan() -> Iterator[dict[tuple[int, int], str]]:
    """All plans of at most three trials."""
    early = [(passed, trials - passed) for trials in range(CAP) for passed in range(trials + 1)]
    last = [(passed, CAP - passed) for passed in range(CAP + 1)]
    for first in itertools.product(("accept", "reject", None), repeat=len(early)):
        for final in itertools.product(("accept", "reject"), repeat=len(last)):
            answers = zip([*early, *last], [*first, *final], strict=True)
            yield {state: answer for state, answer in answers if answer is not None}


def found_plan(**more: int) -> SequentialPlan:
    return optimal_plan(
        healthy=[Weighted(rate=GOOD, weight=1.0)],
        dropped=[Weighted(rate=BAD, weight=10.0)],
        false_alarm=PRICE,
        cap=CAP,
        **more,
    )


def test_no_other_plan_is_cheaper() -> None:
    """Compared with all 11,664 plans of at most three trials."""
    assert cost(dict(found_plan(first=0).answers)) == pytest.approx(min(map(cost, every_plan())))


def test_it_always_ends_and_later_trials_are_ignored() -> None:
    """The answer is the one after the first trials that decide."""
    plan = found_plan()
    for outcomes in itertools.product([True, False], repeat=CAP):
        used, answer = plan.follow(outcomes)
        assert answer is not None
        assert plan.follow([*outcomes[:used], *[not one for one in outcomes[used:]]]) == (used, answer)
        assert plan.follow(outcomes[: used - 1])[1] is None


def test_it_asks_for_the_fewest_trials_that_can_decide() -> None:
    """All passes or all failures; and none before the smallest number of trials of an accepted cell."""
    plan = optimal_plan(
        healthy=[Weighted(rate=0.95, weight=1.0)],
        dropped=[Weighted(rate=0.8, weight=1.22), Weighted(rate=0.5, weight=14.99)],
        false_alarm=41.8,
        cap=13,
    )
    assert plan.fewest(0, 0) == 3
    assert plan.fewest(2, 0) == 1
    assert plan.fewest(0, 2) == 1
    assert plan.stop(0, 0) is None
    assert 0 < plan.doubts[9, 1] < plan.doubts[0, 0] <= 1
