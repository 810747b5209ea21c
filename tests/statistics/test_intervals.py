from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product
from statistics import NormalDist

import pytest
from hypothesis import given, strategies as st

from demeanor.statistics.intervals import Interval, clopper_pearson, jeffreys, wilson, wilson_of_mean

COUNTS = st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def coverage(interval: Callable[[int, int], Interval], n: int, p: float) -> float:
    """The coverage of `p`, summed exactly over all outcomes."""
    held = [c for c in range(n + 1) if interval(c, n).low <= p <= interval(c, n).high]
    return math.fsum(math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in held)


@pytest.mark.parametrize(
    ("passed", "judged", "low", "high"),
    [
        (3, 3, 0.4385, 1),
        (2, 3, 0.2077, 0.9385),
        (8, 10, 0.4902, 0.9433),
        (21, 21, 0.8454, 1),
        (20, 21, 0.7733, 0.9915),
        (95, 100, 0.8882, 0.9785),
    ],
)
def test_wilson_gives_the_published_numbers(passed: int, judged: int, low: float, high: float) -> None:
    """Reference numbers, to four digits."""
    assert wilson(passed, judged) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("passed", "judged", "low", "high"),
    [(3, 3, 0.2924, 1), (21, 21, 0.8389, 1), (20, 21, 0.7618, 0.9988), (0, 10, 0, 0.3085)],
)
def test_clopper_pearson_gives_the_published_numbers(passed: int, judged: int, low: float, high: float) -> None:
    """Reference numbers, to four digits."""
    assert clopper_pearson(passed, judged) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(("passed", "judged", "low", "high"), [(8, 10, 0.4972, 0.9559), (20, 21, 0.7982, 0.9948)])
def test_jeffreys_gives_the_published_numbers(passed: int, judged: int, low: float, high: float) -> None:
    """Reference numbers, to four digits."""
    assert jeffreys(passed, judged) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(("p", "expected"), [(0.8, 0.948), (0.9, 0.948), (0.95, 0.981), (0.99, 0.9815)])
def test_coverage_of_wilson(p: float, expected: float) -> None:
    """Coverage with 21 trials, by exact sum."""
    assert coverage(wilson, 21, p) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize(("p", "expected"), [(0.8, 0.976), (0.9, 0.986), (0.95, 0.981), (0.99, 0.9815)])
def test_coverage_of_clopper_pearson(p: float, expected: float) -> None:
    """Coverage with 21 trials, by exact sum; never below 95 %."""
    assert coverage(clopper_pearson, 21, p) == pytest.approx(expected, abs=5e-4)
    assert all(coverage(clopper_pearson, n, p) >= 0.95 for n in (1, 3, 10))


@given(counts=COUNTS)
def test_every_interval_contains_the_observed_rate(counts: tuple[int, int]) -> None:
    """And stays within 0 and 1."""
    passed, judged = counts
    for interval in (wilson, clopper_pearson, jeffreys):
        low, high = interval(passed, judged)
        assert 0 <= low <= passed / judged <= high <= 1


@given(counts=COUNTS)
def test_fails_mirror_passes(counts: tuple[int, int]) -> None:
    """The interval of the fails is the mirror image of that of the passes."""
    passed, judged = counts
    for interval in (wilson, clopper_pearson, jeffreys):
        low, high = interval(passed, judged)
        assert interval(judged - passed, judged) == pytest.approx((1 - high, 1 - low), abs=1e-9)


@given(counts=COUNTS)
def test_more_confidence_means_a_wider_interval(counts: tuple[int, int]) -> None:
    """99 % contains 90 %."""
    for interval in (wilson, clopper_pearson, jeffreys):
        wide, narrow = interval(*counts, level=0.99), interval(*counts, level=0.9)
        assert wide.low <= narrow.low + 1e-12
        assert narrow.high <= wide.high + 1e-12


@given(counts=COUNTS)
def test_the_mean_of_one_rate_has_that_rates_interval(counts: tuple[int, int]) -> None:
    """Exactly."""
    passed, judged = counts
    assert wilson_of_mean([passed / judged], [judged]) == pytest.approx(wilson(passed, judged))


def test_the_mean_of_rates_with_equal_trials_uses_all_trials() -> None:
    """Five times 3 of 3 has the interval of 15 of 15."""
    assert wilson_of_mean([1.0] * 5, [3] * 5) == pytest.approx(wilson(15, 15))


def test_a_rate_of_many_trials_does_not_hide_one_of_few() -> None:
    """The mean of 1 of 1 and 99 of 99 is hardly more precise than 1 of 1."""
    assert wilson_of_mean([1.0, 1.0], [1, 99]) == pytest.approx(wilson(4, 4), abs=0.01)


@pytest.mark.parametrize("truths", [(0.95, 0.8, 0.9), (0.5, 0.5, 0.5), (0.99, 0.6, 0.2), (0.97, 0.97, 0.97)])
@pytest.mark.parametrize("judged", [(5, 5, 5), (2, 3, 6)])
def test_coverage_of_the_interval_of_a_mean(truths: tuple[float, ...], judged: tuple[int, ...]) -> None:
    """Three evals: every outcome is enumerated."""
    held = 0.0
    for counts in product(*(range(n + 1) for n in judged)):
        of = list(zip(counts, judged, truths, strict=True))
        chance = math.prod(math.comb(n, c) * p**c * (1 - p) ** (n - c) for c, n, p in of)
        low, high = wilson_of_mean([c / n for c, n, _ in of], judged)
        held += chance * (low <= math.fsum(truths) / 3 <= high)
    assert held >= 0.92


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_the_quantile_is_that_of_the_normal_distribution(level: float) -> None:
    z = NormalDist().inv_cdf((1 + level) / 2)
    low, high = wilson(5, 10, level=level)
    assert high - low == pytest.approx(z / math.sqrt(10 + z * z), rel=1e-15)


def test_invalid_arguments_are_refused() -> None:
    """An impossible count is an error, not an interval."""
    for passed, judged in ((0, 0), (-1, 3), (4, 3)):
        with pytest.raises(ValueError, match=f"passed={passed}"):
            wilson(passed, judged)
    with pytest.raises(ValueError, match=r"level=95"):
        wilson(1, 2, level=95)
    with pytest.raises(ValueError, match="at least 1"):
        wilson_of_mean([], [])
