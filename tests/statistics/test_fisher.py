from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from scipy import stats

from demeanor.statistics.fisher import mid_p_decrease, p_decrease

COUNTS = st.integers(1, 80).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("base", "new", "p"),
    [
        ((21, 21), (2, 3), 0.1250),
        ((21, 21), (1, 3), 0.0109),
        ((95, 100), (80, 100), 0.0011),
        ((20, 21), (6, 10), 0.0274),
    ],
)
def test_the_published_numbers(base: tuple[int, int], new: tuple[int, int], p: float) -> None:
    """Reference numbers, to four digits."""
    assert p_decrease(*base, *new) == pytest.approx(p, abs=5e-5)


@given(base=COUNTS, new=COUNTS)
def test_it_agrees_with_scipy(base: tuple[int, int], new: tuple[int, int]) -> None:
    """One-sided, for any two samples; mid-p leaves out half of the observed result."""
    table = [[new[0], base[0]], [new[1] - new[0], base[1] - base[0]]]
    theirs = stats.fisher_exact(table, alternative="less").pvalue
    assert p_decrease(*base, *new) == pytest.approx(theirs, abs=1e-9)
    seen = stats.hypergeom.pmf(new[0], base[1] + new[1], new[1], base[0] + new[0])
    assert mid_p_decrease(*base, *new) == pytest.approx(theirs - seen / 2, abs=1e-9)


def test_a_sample_without_trials_is_refused() -> None:
    """There is nothing to compare."""
    with pytest.raises(ValueError, match="judged must be at least 1"):
        p_decrease(0, 0, 1, 3)
