from __future__ import annotations

import pytest
from scipy import stats

from demeanor.statistics.power import (
    detectable_drop,
    exact_trials_per_side,
    fails_that_surprise,
    region_of,
    trials_against_known,
    trials_per_side,
)


@pytest.mark.parametrize(
    ("new", "level", "power", "trials", "fails"),
    [
        (0.80, 0.05, 0.8, 33, 5),
        (0.70, 0.05, 0.8, 14, 3),
        (0.50, 0.05, 0.8, 5, 2),
        (0.70, 0.05, 0.9, 21, 4),
        (0.50, 0.05, 0.9, 9, 3),
        (0.80, 0.01, 0.8, 44, 7),
        (0.70, 0.01, 0.8, 21, 5),
        (0.50, 0.01, 0.8, 8, 3),
    ],
)
def test_the_published_numbers(new: float, level: float, power: float, trials: int, fails: int) -> None:
    """Trials against a known rate of 95 %."""
    found = trials_against_known(0.95, new, level=level, power=power)
    assert found is not None
    assert (found.trials, found.fails) == (trials, fails)


@pytest.mark.parametrize("new", [0.9, 0.85, 0.8, 0.7, 0.5])
def test_a_plan_has_the_level_and_power_also_with_two_more_trials(new: float) -> None:
    """By scipy's binomial; and no shorter plan has them."""

    def keeps(trials: int) -> bool:
        fails = next(k for k in range(trials + 2) if stats.binom.sf(k - 1, trials, 0.05) <= 0.05)
        return fails <= trials and stats.binom.sf(fails - 1, trials, 1 - new) >= 0.8

    found = trials_against_known(0.95, new)
    assert found is not None
    assert all(keeps(found.trials + more) for more in range(3))
    assert not any(all(keeps(n + more) for more in range(3)) for n in range(1, found.trials))


@pytest.mark.parametrize(("new", "about", "fisher", "mid_p"), [(0.8, 60, 68, 56), (0.7, 28, 34, 28), (0.5, 12, 14, 12)])
def test_two_samples_need_more(new: float, about: int, fisher: int, mid_p: int) -> None:
    """Published numbers, give or take one: the power goes up and down from one number of trials to the next."""
    assert trials_per_side(0.95, new) == about
    assert exact_trials_per_side(0.95, new, test="fisher") == pytest.approx(fisher, abs=1)
    assert exact_trials_per_side(0.95, new, test="mid-p") == pytest.approx(mid_p, abs=1)


@pytest.mark.parametrize(
    ("history", "trials", "new", "power"),
    [
        (21, 3, 0.8, 0.10),
        (21, 10, 0.8, 0.36),
        (21, 30, 0.8, 0.43),
        (21, 10, 0.5, 0.91),
        (200, 10, 0.8, 0.46),
        (200, 30, 0.8, 0.79),
    ],
)
def test_a_small_history_limits_the_power(history: int, trials: int, new: float, power: float) -> None:
    """Published numbers of the mid-p test."""
    assert region_of("mid-p", history, trials, 0.05).chance(0.95, new) == pytest.approx(power, abs=0.006)


def test_the_smallest_detectable_drop_has_just_the_power() -> None:
    """And hardly more."""
    region = region_of("boschloo", 60, 10, 0.05)
    drop = detectable_drop(lambda rate: region.chance(0.95, rate), 0.95)
    assert drop is not None
    assert region.chance(0.95, 0.95 - drop) == pytest.approx(0.8, abs=1e-4)


def test_a_single_trial_detects_nothing() -> None:
    """One fail is not significant at 90 %, so not even a drop to 0 is detected."""
    assert fails_that_surprise(1, 0.9) == 2
    assert detectable_drop(lambda rate: 0.0, 0.9) is None


def test_no_drop_is_refused() -> None:
    """The new rate must be lower."""
    for reckon in (trials_against_known, trials_per_side):
        with pytest.raises(ValueError, match="new must be below base"):
            reckon(0.8, 0.9)
    with pytest.raises(ValueError, match="base must be above 0"):
        detectable_drop(lambda rate: 1.0, 0.0)
