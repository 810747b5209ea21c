from __future__ import annotations

import random

import pytest

from demeanor.statistics.sprt import Sprt

PUBLISHED = Sprt(good=0.95, bad=0.80, miss_good=0.05, miss_bad=0.10)
PROMOTION = Sprt(good=0.99, bad=0.93, miss_good=0.10, miss_bad=0.05)


@pytest.mark.parametrize(
    ("rate", "flagged", "trials"), [(0.95, 0.0308, 23.6), (0.80, 0.9115, 21.0), (0.50, 0.99994, 6.1)]
)
def test_the_published_numbers(rate: float, flagged: float, trials: float) -> None:
    """Reference numbers: exact error rates and mean trials."""
    found = PUBLISHED.operation(rate)
    assert found.chance("bad") == pytest.approx(flagged, abs=5e-5)
    assert found.trials == pytest.approx(trials, abs=0.05)


@pytest.mark.parametrize(
    ("rate", "promoted", "trials"),
    [(0.995, 0.989, 55), (0.99, 0.946, 62), (0.97, 0.503, 71), (0.95, 0.168, 52), (0.90, 0.009, 22), (0.80, 0.0, 10)],
)
def test_the_published_numbers_of_promotion(rate: float, promoted: float, trials: float) -> None:
    """99 % or 93 %, capped at 200 trials."""
    found = PROMOTION.operation(rate, cap=200)
    assert found.chance("good") == pytest.approx(promoted, abs=6e-4)
    assert found.trials == pytest.approx(trials, abs=0.6)


@pytest.mark.parametrize(("good", "bad", "needed"), [(0.98, 0.90, 34), (0.99, 0.93, 47), (0.99, 0.95, 71)])
def test_passes_needed(good: float, bad: float, needed: int) -> None:
    """One fewer is not enough."""
    test = Sprt(good=good, bad=bad, miss_good=0.10, miss_bad=0.05)
    assert test.passes_needed() == needed
    assert (test.answer(needed - 1, 0), test.answer(needed, 0)) == (None, "good")


def test_the_errors_are_within_walds_bounds() -> None:
    """Wald's bounds, error / (1 - other error), hold, also in batches; a simulation agrees."""
    rng = random.Random(9)
    for batch in (1, 3):
        assert PROMOTION.operation(0.93, batch=batch).chance("good") <= 0.05 / 0.9
        assert PROMOTION.operation(0.99, batch=batch).chance("bad") <= 0.10 / 0.95
    wrong = 0
    for _ in range(1500):
        passed = failed = 0
        while (answer := PROMOTION.answer(passed, failed)) is None:
            ok = rng.random() < 0.93
            passed, failed = passed + ok, failed + (not ok)
        wrong += answer == "good"
    assert wrong / 1500 <= 0.05 + 0.015


def test_invalid_rates_are_refused() -> None:
    """Bad above good; error rates that add up to 1."""
    with pytest.raises(ValueError, match="bad must be below good"):
        Sprt(good=0.8, bad=0.9, miss_good=0.1, miss_bad=0.1)
    with pytest.raises(ValueError, match="their sum below 1"):
        Sprt(good=0.9, bad=0.8, miss_good=0.5, miss_bad=0.5)
