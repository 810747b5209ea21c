from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from scipy import stats

from demeanor.statistics import binomial

COUNTS = st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
RATES = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.001, 0.999))


@given(counts=COUNTS, rate=RATES)
def test_it_agrees_with_scipy(counts: tuple[int, int], rate: float) -> None:
    """Point, both tails and the whole table."""
    passed, judged = counts
    theirs = stats.binom(judged, rate)
    assert binomial.exactly(passed, judged, rate) == pytest.approx(theirs.pmf(passed), abs=1e-11)
    assert binomial.at_most(passed, judged, rate) == pytest.approx(theirs.cdf(passed), abs=1e-10)
    assert binomial.at_least(passed, judged, rate) == pytest.approx(theirs.sf(passed - 1), abs=1e-10)
    assert binomial.table(judged, rate) == pytest.approx([theirs.pmf(k) for k in range(judged + 1)], abs=1e-11)


def test_impossible_counts_have_probability_0() -> None:
    """Negative, or more passes than trials."""
    assert (binomial.exactly(-1, 3, 0.5), binomial.exactly(4, 3, 0.5)) == (0, 0)
    assert (binomial.at_most(-1, 3, 0.5), binomial.at_most(3, 3, 0.5)) == (0, 1)
    assert (binomial.at_least(0, 3, 0.5), binomial.at_least(4, 3, 0.5)) == (1, 0)
