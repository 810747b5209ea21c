"""How many things really have a property, given a test with errors."""

from __future__ import annotations

import random

import pytest

from demeanor.statistics.detection import true_count


def test_a_perfect_test_leaves_no_doubt():
    """Nothing is missed, and nothing is a false alarm."""
    assert true_count(5, of=40, tested=40, sure=1.0, false_alarm=0.0) == range(5, 6)


def test_the_true_number_is_in_the_range_as_often_as_promised():
    """With misses and false alarms at the stated rates."""
    rng = random.Random(1)
    hits = 0
    for _ in range(2000):
        true = rng.randrange(0, 12)
        found = sum(rng.random() < 0.9 for _ in range(true)) + sum(rng.random() < 0.02 for _ in range(40 - true))
        hits += true in true_count(found, of=40, tested=40 - true, sure=0.9, false_alarm=0.02)
    assert hits / 2000 >= 0.95


@pytest.mark.parametrize("found", [-1, 41])
def test_impossible_numbers_are_refused(found: int):
    """Instead of an answer."""
    with pytest.raises(ValueError, match=f"count={found}"):
        true_count(found, of=40, tested=1, sure=0.9, false_alarm=0.1)
