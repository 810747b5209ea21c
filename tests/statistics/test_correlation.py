"""The correlation of the trials of a night, estimated from the nights of a suite."""

from __future__ import annotations

import random

import pytest

from demeanor.statistics.correlation import NightCorrelation, night_correlation


def suite(rng: random.Random, rate: float, rho: float, *, cells: int, nights: int) -> list[list[tuple[int, int]]]:
    """Three trials a night."""
    weight = (1 - rho) / rho if rho else 0.0

    def of_night() -> float:
        return rng.betavariate(rate * weight, (1 - rate) * weight) if rho else rate

    rates = [[of_night() for _ in range(nights)] for _ in range(cells)]
    return [[(sum(rng.random() < p for _ in range(3)), 3) for p in own] for own in rates]


@pytest.mark.parametrize("rho", [0.0, 0.05, 0.1, 0.2])
@pytest.mark.parametrize("rate", [0.7, 0.9, 0.95])
def test_it_is_found_in_ten_nights_of_sixty_cells(rate: float, rho: float) -> None:
    """The median of some suites is near, and most intervals have it."""
    rng = random.Random(2)
    found = [night_correlation(suite(rng, rate, rho, cells=60, nights=10)) for _ in range(9)]
    assert sorted(one.value for one in found)[4] == pytest.approx(rho, abs=0.055)
    assert sum(one.low <= rho <= one.high for one in found) >= 7


def test_with_few_failures_the_prior_decides() -> None:
    """It is small, and not 0 once there is a night: hosted models have bad days."""
    assert night_correlation([]) == NightCorrelation(value=0.0, low=0.0, high=0.6)
    unknown = night_correlation([[(3, 3)] * 10] * 50)
    assert 0.02 < unknown.value < 0.1
    assert night_correlation([[(1, 1), (0, 1)] * 10]).value == unknown.value
    assert night_correlation([[(2, 3), (3, 3)]]).nights == 2


def test_evals_that_change_hardly_look_like_a_correlation() -> None:
    """Four of forty: only the stretches of nights in which they change do."""
    rng = random.Random(3)
    steady, fallen = (suite(rng, rate, 0.0, cells=40, nights=12) for rate in (0.95, 0.6))
    changed = [
        [*good, *(bad if place < 4 else good)] for place, (good, bad) in enumerate(zip(steady, fallen, strict=True))
    ]
    assert night_correlation(changed).value <= night_correlation(steady).value + 0.03
