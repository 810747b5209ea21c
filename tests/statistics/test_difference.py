from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from demeanor.statistics.difference import newcombe

COUNTS = st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("after", "before", "low", "high"),
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((10, 10), (0, 10), 0.6075, 1.0),
    ],
)
def test_the_numbers_of_the_paper(after: tuple[int, int], before: tuple[int, int], low: float, high: float) -> None:
    """Newcombe 1998, table II, method 10."""
    assert newcombe(before, after) == pytest.approx((low, high), abs=6e-5)


@given(COUNTS, COUNTS)
def test_it_contains_the_difference_and_is_symmetric(a: tuple[int, int], b: tuple[int, int]) -> None:
    """A minus B is the negative of B minus A."""
    low, high = newcombe(a, b)
    assert -1 <= low <= b[0] / b[1] - a[0] / a[1] <= high <= 1
    assert newcombe(b, a) == pytest.approx((-high, -low))
