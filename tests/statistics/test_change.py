"""Finding a change of a rate, and the places between which it happened."""

from __future__ import annotations

import random

from demeanor.statistics.change import find_change


def draw(rng: random.Random, rates: list[float], trials: int = 5) -> list[tuple[int, int]]:
    return [(sum(rng.random() < rate for _ in range(trials)), trials) for rate in rates]


def test_a_clear_fall_is_found_where_it_is():
    """Nine good nights, then four bad ones."""
    found = find_change([(5, 5)] * 9 + [(0, 5)] * 4)
    assert found is not None
    assert (found.first, found.earliest, found.latest) == (9, 9, 9)
    assert (found.before, found.after, found.fell) == ((45, 45), (0, 20), True)
    assert found.p_value < 1e-6


def test_a_rise_is_found_too():
    """The other direction."""
    found = find_change([(0, 3)] * 6 + [(3, 3)] * 6)
    assert found is not None
    assert not found.fell


def test_without_a_change_there_is_none():
    """A constant rate, too few counts, nothing."""
    assert find_change([(4, 5), (5, 5), (4, 5), (5, 5)]) is None
    assert find_change([(5, 5)]) is None
    assert find_change([]) is None


def test_the_range_contains_the_true_night_and_false_alarms_are_rare():
    """Drawn histories: 95 % of ranges contain the change; at most 5 % of steady ones have a small p-value."""
    rng = random.Random(5)
    inside = wrong = 0
    for _ in range(400):
        found = find_change(draw(rng, [0.9] * 8 + [0.3] * 5))
        inside += found is not None and found.earliest <= 8 <= found.latest
        steady = find_change(draw(rng, [rng.choice([0.5, 0.8, 0.95])] * 13))
        wrong += steady is not None and steady.p_value <= 0.05
    assert inside / 400 >= 0.93
    assert wrong / 400 <= 0.05
