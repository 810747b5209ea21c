"""Trials of one occasion: the beta-binomial distribution as an urn."""

from __future__ import annotations

import pytest
from scipy import stats

from demeanor.statistics.binomial import table
from demeanor.statistics.occasions import combined, effective, likelihood, next_pass, occasion


@pytest.mark.parametrize(("rate", "correlation"), [(0.9, 0.1), (0.95, 0.3), (0.5, 0.02)])
def test_the_passes_of_an_occasion_are_beta_binomial(rate: float, correlation: float) -> None:
    """As scipy has it; an outcome makes the same one likelier."""
    weight = (1 - correlation) / correlation
    theirs = stats.betabinom(7, rate * weight, (1 - rate) * weight).pmf(range(8))
    assert occasion(7, rate, correlation) == pytest.approx(theirs)
    assert likelihood(3, 1, rate, correlation) == pytest.approx(theirs_of(rate * weight, (1 - rate) * weight))
    assert next_pass(0, 2, rate, correlation) < rate < next_pass(2, 0, rate, correlation)


def theirs_of(a: float, b: float) -> float:
    """Three passes and a failure in one given order."""
    return float(stats.betabinom(4, a, b).pmf(3)) / 4


def test_without_a_correlation_trials_are_independent() -> None:
    """The binomial distribution."""
    assert occasion(5, 0.8, 0.0) == pytest.approx(table(5, 0.8))
    assert next_pass(9, 0, 0.8, 0.0) == pytest.approx(0.8)
    assert (effective(3, 0.0), combined(0.0, 0.0)) == (1.0, 0.0)


def test_correlated_trials_are_worth_less() -> None:
    """Three of them with 0.25 are worth two; reasons add up, to at most 1."""
    assert 3 * effective(3, 0.25) == pytest.approx(2)
    assert effective(1, 0.5) == 1.0
    assert combined(0.1, 0.2) == pytest.approx(0.28)
    assert combined(1.0, 0.5) == 1.0
