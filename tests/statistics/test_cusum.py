from __future__ import annotations

import math
import random

import pytest

from demeanor.statistics.cusum import Chart, chart, scores


def limited(limit: int) -> Chart:
    return Chart(before=0.95, after=0.80, up=8, down=1, limit=limit)


@pytest.mark.parametrize(
    ("limit", "nights"),
    [(16, (141, 25, 7.1, 4.1, 2.4)), (22, (427, 43, 9.6, 5.3, 2.9)), (28, (1234, 68, 12.0, 6.4, 3.4))],
)
def test_the_published_chart(limit: int, nights: tuple[float, ...]) -> None:
    """From 95 % to 80 %, three trials a night.

    The first is the published one to the digit; the others are the published 400 and 1065 nights, as far as whole
    numbers allow them.
    """
    found = [limited(limit).nights_to_alarm(rate, 3) for rate in (0.95, 0.90, 0.80, 0.70, 0.50)]
    assert found == pytest.approx(nights, rel=0.02)


def test_a_simulation_agrees_with_the_false_alarm_interval() -> None:
    """The chart as it is run, on nights without a change."""
    rng, watch = random.Random(13), limited(16)
    total_nights = 0
    for _ in range(1000):
        total = 0
        while total < watch.limit:
            passed = sum(rng.random() < 0.95 for _ in range(3))
            total = watch.add(total, passed, 3 - passed)
            total_nights += 1
    assert total_nights / 1000 == pytest.approx(watch.nights_to_alarm(0.95, 3), rel=0.1)


@pytest.mark.parametrize(("before", "after"), [(0.95, 0.80), (0.99, 0.90), (0.6, 0.45), (0.5, 0.65), (0.85, 0.93)])
def test_a_chart_has_the_lowest_possible_limit(before: float, after: float) -> None:
    """With the next lower limit there would be too many false alarms."""
    found = chart(before, after, trials=3, between_false_alarms=400)
    lower = Chart(before=before, after=after, up=found.up, down=found.down, limit=found.limit - 1)
    assert found.nights_to_alarm(before, 3) >= 400 > lower.nights_to_alarm(before, 3)
    assert found.nights_to_alarm(after, 3) < found.nights_to_alarm(before, 3) / 4


@pytest.mark.parametrize(
    ("before", "after"), [(0.95, 0.8), (0.99, 0.93), (0.6, 0.45), (0.3, 0.15), (0.5, 0.65), (0.9, 0.95)]
)
def test_scores_are_the_likelihood_ratio_in_small_integers(before: float, after: float) -> None:
    """Within a few percent."""
    up, down = scores(before, after)
    fail, won = math.log((1 - after) / (1 - before)), math.log(after / before)
    exact = fail / -won if after < before else won / -fail
    assert up / down == pytest.approx(exact, rel=0.025)
    assert max(up, down) <= 200


def test_an_increase_mirrors_a_decrease() -> None:
    """With passes and fails exchanged."""
    fall = chart(0.6, 0.45, trials=3, between_false_alarms=100)
    rise = chart(0.4, 0.55, trials=3, between_false_alarms=100)
    assert (fall.up, fall.down, fall.limit) == (rise.up, rise.down, rise.limit)
    assert fall.add(5, 1, 2) == rise.add(5, 2, 1)
    assert fall.nights_to_alarm(0.6, 3) == pytest.approx(rise.nights_to_alarm(0.4, 3))


def test_the_chance_of_an_alarm_within_nights_adds_up_to_the_mean() -> None:
    """The mean is the sum of the probabilities of no alarm so far."""
    watch = limited(16)
    waiting = math.fsum(1 - watch.alarm_within(0.5, 3, nights) for nights in range(60))
    assert waiting == pytest.approx(watch.nights_to_alarm(0.5, 3), abs=1e-6)


def test_invalid_arguments_are_refused() -> None:
    """Equal rates; a false-alarm rate that no chart reaches."""
    with pytest.raises(ValueError, match="two different rates"):
        chart(0.9, 0.9, trials=3, between_false_alarms=100)
    with pytest.raises(ValueError, match="both must be at least 1"):
        chart(0.9, 0.8, trials=0, between_false_alarms=100)
