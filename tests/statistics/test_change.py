"""Finding the night in which a rate changed. `make bench-signal` prints the figures for more rates and designs."""

from __future__ import annotations

import random

import numpy as np
import pytest
from benchmarks.nightly_scan import draw as draw_many, nights_to_first_alarm, scan

from demeanor.statistics.change import NIGHTS_BETWEEN_FALSE_ALARMS, Counts, find_changes, limit


def draw(rng: random.Random, *parts: tuple[float, int], trials: int = 3) -> list[Counts]:
    """Nights at one rate after the other."""
    return [(sum(rng.random() < rate for _ in range(trials)), trials) for rate, nights in parts for _ in range(nights)]


def test_a_clear_fall_is_found_where_it_is() -> None:
    """Nine good nights, then four bad ones."""
    (found,) = find_changes([[(5, 5)] * 9 + [(0, 5)] * 4])
    assert (found.fell, found.first, found.earliest, found.latest, found.noticed) == (True, 9, 9, 9, 9)
    assert (found.start, found.end, found.series) == (0, 13, (0,))


def test_a_fall_is_found_from_the_third_night_on() -> None:
    """Two good nights are enough to compare a total failure with."""
    (found,) = find_changes([[(3, 3)] * 2 + [(0, 3)] * 3])
    assert (found.first, found.noticed) == (2, 2)


def test_a_fall_that_lasts_six_nights_is_not_taken_as_normal() -> None:
    """91 % in four nights, 37 % in six."""
    (found,) = find_changes([[(3, 3), (3, 3), (2, 3), (3, 3), (1, 3), (1, 3), (1, 3), (2, 3), (0, 3), (1, 3)]])
    assert found.fell
    assert found.earliest <= 4 <= found.latest


def test_a_recovery_ends_the_fall() -> None:
    """Each change is compared with the nights since the one before."""
    fall, rise = find_changes([[(3, 3)] * 10 + [(1, 3), (1, 3), (0, 3), (1, 3), (1, 3)] + [(3, 3)] * 10])
    assert (fall.fell, fall.first, fall.end) == (True, 10, 15)
    assert (rise.fell, rise.first, rise.start, rise.end) == (False, 15, 10, 25)


def test_subjects_that_fall_together_are_found_earlier_than_one_alone() -> None:
    """One failure in three of each subject is nothing for one, and an alarm for three."""
    night = [(3, 3)] * 4 + [(1, 3)]
    assert find_changes([night]) == ()
    (found,) = find_changes([night] * 3)
    assert (found.first, found.noticed, found.series) == (4, 4, (0, 1, 2))


def test_only_the_subject_that_fell_is_named() -> None:
    """The others go on as before."""
    (found,) = find_changes([[(3, 3)] * 20, [(3, 3)] * 10 + [(0, 3)] * 10, [(2, 3), (3, 3)] * 10])
    assert found.series == (1,)


def test_a_subject_that_is_added_later_does_not_look_like_a_fall() -> None:
    """Its rate is lower, but that of the eval is the same as before."""
    nothing: list[Counts] = [(0, 0)] * 10
    assert find_changes([[(3, 3)] * 20, [*nothing, *[(0, 3), (1, 3)] * 5]]) == ()
    assert find_changes([[(3, 3)] * 20, [*[(0, 3), (1, 3)] * 5, *nothing]]) == ()


def test_too_few_nights_and_steady_rates_have_no_change() -> None:
    """No data, two nights, always the same."""
    assert find_changes([]) == find_changes([[]]) == find_changes([[(3, 3), (0, 3)]]) == ()
    assert find_changes([[(4, 5), (5, 5), (4, 5), (5, 5)]]) == ()
    assert find_changes([[(0, 3)] * 30, [(3, 3)] * 30]) == ()


@pytest.mark.parametrize("counts", [(4, 3), (-1, 3)])
def test_impossible_counts_are_an_error(counts: Counts) -> None:
    """More passed than judged."""
    with pytest.raises(ValueError, match="passed must be between"):
        find_changes([[(3, 3), counts]])
    with pytest.raises(ValueError, match="same number of nights"):
        find_changes([[(3, 3)], []])


def test_more_trials_need_less_evidence_and_more_subjects_more() -> None:
    """Interpolated between the simulated designs; bounded at both ends."""
    limits = [limit(1, trials, 10) for trials in (0.5, 1, 2, 2.5, 3, 5, 7, 10, 20, 50)]
    assert limits == sorted(limits, reverse=True)
    assert limits[0] == limits[1]
    assert limits[-1] == limits[-2]
    assert limit(3, 1, 10) > limit(1, 3, 10)


@pytest.mark.parametrize(("subjects", "trials", "rho"), [(1, 3, 0.0), (2, 1, 0.0), (3, 3, 0.0), (2, 3, 0.2)])
def test_the_simulation_scans_like_the_product(subjects: int, trials: int, rho: float) -> None:
    """Every alarm of every history, falls and rises, also those after another one."""
    passed = draw_many([0.8] * 15 + [0.4] * 15 + [0.9] * 35, 15, subjects=subjects, trials=trials, seed=4)
    simulated, alarms = scan(passed, trials=trials, correlation=rho), 0
    for history, falls, rises in zip(passed, simulated.falls, simulated.rises, strict=True):
        found = find_changes([[(int(good), trials) for good in series] for series in history], rho)
        assert {one.noticed for one in found if one.fell} == set(np.flatnonzero(falls))
        assert {one.noticed for one in found if not one.fell} == set(np.flatnonzero(rises))
        alarms += len(found)
    assert alarms > 15


@pytest.mark.parametrize("rate", [0.5, 0.7, 0.9, 0.99])
def test_false_alarms_are_as_rare_as_stated(rate: float) -> None:
    """All alarms of 400 nights, falls and rises; and the first ones, if the eval is edited every 40 nights."""
    alarms = scan(draw_many([rate] * 400, 700)).alarms
    assert alarms.size / alarms.sum() >= NIGHTS_BETWEEN_FALSE_ALARMS
    assert nights_to_first_alarm(scan(draw_many([rate] * 40, 6000))) >= NIGHTS_BETWEEN_FALSE_ALARMS


@pytest.mark.parametrize("rate", [0.7, 0.9, 0.95])
def test_false_alarms_are_rare_with_correlated_trials_as_well(rate: float) -> None:
    """A scan that knows the correlation has at most half as many more than stated; one that does not, three times."""
    passed = draw_many([rate] * 120, 700, correlation=0.2)
    knowing, naive = (scan(passed, correlation=rho).alarms for rho in (0.2, 0.0))
    assert knowing.size / knowing.sum() >= NIGHTS_BETWEEN_FALSE_ALARMS / 1.5
    assert naive.size / naive.sum() < NIGHTS_BETWEEN_FALSE_ALARMS / 3


@pytest.mark.parametrize(("subjects", "bars"), [(1, (0.40, 0.58, 0.68, 0.78)), (3, (0.90, 0.97, 0.99, 0.99))])
def test_drops_are_found_within_six_nights(subjects: int, bars: tuple[float, ...]) -> None:
    """From 90 % to 45 % after 3, 5, 7 and 10 good nights, with three trials per night and subject."""
    for good, bar in zip((3, 5, 7, 10), bars, strict=True):
        found = scan(draw_many([0.9] * good + [0.45] * 6, 12_000 // subjects, subjects=subjects))
        assert found.falls[:, good:].any(axis=1).mean() >= bar, f"after {good} good nights"


def test_the_date_is_right_or_next_to_right() -> None:
    """In at least 80 % of the drops of 40 points that are found; the range has the true night in 90 %."""
    rng, near, inside, found = random.Random(3), 0, 0, 0
    for _ in range(500):
        falls = [one for one in find_changes([draw(rng, (0.9, 10), (0.5, 10))]) if one.fell and one.noticed >= 10]
        if falls:
            found += 1
            near += abs(falls[0].first - 10) <= 1
            inside += falls[0].earliest <= 10 <= falls[0].latest
    assert found > 350
    assert near / found >= 0.8
    assert inside / found >= 0.9
