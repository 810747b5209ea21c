from __future__ import annotations

import math
import random
import tracemalloc

import pytest

from demeanor.core.values.evidence import Spent
from demeanor.core.values.usage import RunningTotal, total


def test_unknown_usage_stays_unknown() -> None:
    """No cost at all is None, not 0."""
    spent, unpriced, uncounted = total([Spent(seconds=1.5, turns=2), Spent(seconds=2.5, turns=1)])
    assert spent == Spent(seconds=4.0, turns=3)
    assert (unpriced, uncounted) == (2, 2)


def test_what_is_partly_known_is_summed_and_the_gaps_are_counted() -> None:
    """The sum is then a lower bound, and says so."""
    known = Spent(seconds=1, turns=1, input_tokens=100, output_tokens=10, cost_usd=0.25)
    spent, unpriced, uncounted = total([known, Spent(input_tokens=50), known])
    assert (spent.cost_usd, spent.input_tokens, spent.output_tokens) == (0.5, 250, 20)
    assert (unpriced, uncounted) == (1, 1)


def test_nothing_costs_nothing_known() -> None:
    """An empty sum claims no cost of 0."""
    spent, unpriced, uncounted = total([])
    assert (spent.cost_usd, spent.tokens, unpriced, uncounted) == (None, None, 0, 0)


def test_a_running_total_is_as_exact_as_a_sum_of_everything() -> None:
    """Rounding errors do not add up, in whatever order the parts come."""
    draw = random.Random(1)
    costs = [draw.uniform(-1, 1) * 10 ** draw.randint(-12, 12) for _ in range(2000)]
    running = RunningTotal()
    for cost in costs:
        running.add(Spent(seconds=abs(cost), cost_usd=cost))
    assert running.value.spent == Spent(seconds=math.fsum(map(abs, costs)), cost_usd=math.fsum(costs))


@pytest.mark.parametrize("costs", [[1.0, math.inf, 2.0], [math.inf, math.inf]])
def test_an_infinite_cost_stays_infinite(costs: list[float]) -> None:
    """An agent's log may contain one."""
    assert total(Spent(cost_usd=cost) for cost in costs).spent.cost_usd == math.inf


def test_a_running_total_keeps_no_parts() -> None:
    """A run of many trials has one for as long as it lasts."""
    running = RunningTotal()
    running.add(Spent(seconds=0.1, cost_usd=0.1, input_tokens=1, output_tokens=1))
    tracemalloc.start()
    try:
        for number in range(1000):
            running.add(Spent(seconds=number / 7, cost_usd=number / 3, input_tokens=number, output_tokens=1))
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 5000
