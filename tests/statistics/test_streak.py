from __future__ import annotations

import itertools

import pytest

from demeanor.statistics.streak import chance_of_streak


@pytest.mark.parametrize(
    ("rate", "within"),
    [
        (0.99, (0.810, 1.0, 1.0, 1.0)),
        (0.97, (0.527, 0.992, 1.0, 1.0)),
        (0.95, (0.341, 0.948, 0.998, 1.0)),
        (0.90, (0.109, 0.640, 0.892, 0.967)),
        (0.80, (0.009, 0.110, 0.226, 0.327)),
    ],
)
def test_the_published_numbers_of_seven_nights(rate: float, within: tuple[float, ...]) -> None:
    """Seven nights of three trials, within 7, 30, 60 and 90 nights."""
    found = [chance_of_streak(rate**3, length=7, rounds=rounds) for rounds in (7, 30, 60, 90)]
    assert found == pytest.approx(within, abs=6e-4)


@pytest.mark.parametrize("earliest", [0, 3, 5, 8])
def test_all_histories_counted_one_by_one_agree(earliest: int) -> None:
    """Every sequence of eight rounds with a streak of three at or after the first check."""
    chance, total = 0.6, 0.0
    for rounds in itertools.product([True, False], repeat=8):
        looks = [n for n in range(3, 9) if n >= earliest and all(rounds[n - 3 : n])]
        if looks:
            total += chance ** sum(rounds) * (1 - chance) ** (8 - sum(rounds))
    assert chance_of_streak(chance, length=3, rounds=8, earliest=earliest) == pytest.approx(total)


def test_invalid_arguments_are_refused() -> None:
    """A streak of length 0."""
    with pytest.raises(ValueError, match="length=0"):
        chance_of_streak(0.5, length=0, rounds=3)
