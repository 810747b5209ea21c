from __future__ import annotations

import random

import pytest
from hypothesis import given, strategies as st
from scipy import stats

from demeanor.statistics import boschloo, fisher

COUNTS = st.integers(1, 25).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("base", "new", "p"),
    [
        ((21, 21), (2, 3), 0.0534),
        ((21, 21), (1, 3), 0.0040),
        ((95, 100), (80, 100), 0.0007),
        ((20, 21), (6, 10), 0.0147),
    ],
)
def test_the_published_numbers(base: tuple[int, int], new: tuple[int, int], p: float) -> None:
    """Reference numbers, to four digits."""
    assert boschloo.p_decrease(*base, *new) == pytest.approx(p, abs=5e-5)


@given(base=COUNTS, new=COUNTS)
def test_it_agrees_with_scipy(base: tuple[int, int], new: tuple[int, int]) -> None:
    """For any two samples."""
    table = [[new[0], base[0]], [new[1] - new[0], base[1] - base[0]]]
    theirs = stats.boschloo_exact(table, alternative="less", n=64).pvalue
    assert boschloo.p_decrease(*base, *new) == pytest.approx(theirs, abs=1e-4)


@given(base=COUNTS, new=COUNTS)
def test_it_is_never_stricter_than_fisher(base: tuple[int, int], new: tuple[int, int]) -> None:
    """Its p-value is never larger."""
    assert boschloo.p_decrease(*base, *new) <= fisher.p_decrease(*base, *new) + 1e-9


@pytest.mark.parametrize(("base", "new"), [(21, 3), (10, 10), (60, 10)])
def test_the_region_is_exactly_the_significant_results(base: int, new: int) -> None:
    """Those whose p-value is at most the level."""
    region = boschloo.rejection(base, new, 0.05)
    assert region.size <= 0.05
    for passed, edge in enumerate(region.edge):
        if edge >= 0:
            assert boschloo.p_decrease(passed, base, edge, new) <= 0.05 + 1e-9
        if edge < new:
            assert boschloo.p_decrease(passed, base, edge + 1, new) > 0.05


def test_false_alarms_are_within_the_level() -> None:
    """At 5 %, for any common rate."""
    rng = random.Random(2)
    for rate in (0.5, 0.8, 0.95):
        alarms = 0
        for _ in range(2000):
            base, new = (sum(rng.random() < rate for _ in range(n)) for n in (21, 10))
            alarms += boschloo.p_decrease(base, 21, new, 10) <= 0.05
        assert alarms / 2000 <= 0.05 + 0.012
