from __future__ import annotations

from demeanor.core.evidence import Spent
from demeanor.core.usage import total


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
