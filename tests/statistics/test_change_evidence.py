"""The fast scan for changes finds exactly what its definition finds."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from demeanor.statistics import change_evidence
from demeanor.statistics.change import Counts, find_changes
from demeanor.statistics.change_evidence import bayes_factors, summed
from tests.helpers.plain_scan import alarms


def found(series: Sequence[Sequence[Counts]]) -> list[tuple[bool, int, tuple[int, ...]]]:
    """Direction, night and series of every change."""
    return [(one.fell, one.noticed, one.series) for one in find_changes(series)]


def expected(series: Sequence[Sequence[Counts]]) -> list[tuple[bool, int, tuple[int, ...]]]:
    """The same by definition."""
    return [(fell, noticed, changed) for fell, _, noticed, changed in alarms(series)]


def scenario(rng: random.Random) -> list[list[Counts]]:
    """Some subjects that fall, rise, begin late or lose trials, over more nights than are compared."""
    nights, trials = rng.randrange(3, 90), rng.choice((1, 3, 5))
    series = []
    for _ in range(rng.choice((1, 2, 3, 6))):
        rates, at = (rng.random() ** 0.3, rng.random()), rng.randrange(2 * nights)
        begins, lost = rng.choice((0, 0, nights // 3)), rng.choice((0.0, 0.0, 0.3))
        judged = [sum(rng.random() >= lost for _ in range(trials)) if night >= begins else 0 for night in range(nights)]
        series.append(
            [
                (sum(rng.random() < rates[night >= at] for _ in range(count)), count)
                for night, count in enumerate(judged)
            ]
        )
    return series


def test_simulated_nights_have_the_alarms_of_the_definition() -> None:
    """Many nights, one to six subjects, missing trials."""
    rng, changes = random.Random(18), 0
    for _ in range(40):
        series = scenario(rng)
        assert found(series) == expected(series)
        changes += len(found(series))
    assert changes > 10


@given(st.data())
def test_any_nights_have_the_alarms_of_the_definition(data: st.DataObject) -> None:
    """Also nights without trials, and series that never change."""
    nights = data.draw(st.integers(min_value=3, max_value=14))
    night = st.integers(min_value=0, max_value=4).flatmap(
        lambda judged: st.tuples(st.integers(0, judged), st.just(judged))
    )
    one = st.lists(night, min_size=nights, max_size=nights)
    series = data.draw(st.lists(one, min_size=1, max_size=4))
    assert found(series) == expected(series)


def test_the_bound_saves_most_of_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a steady suite the mixture of the factors is calculated in few nights."""
    asked = 0
    mixture = change_evidence._mixture

    def counting(*args: object, **options: object) -> float:
        nonlocal asked
        asked += 1
        return mixture(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(change_evidence, "_mixture", counting)
    rng = random.Random(4)
    find_changes([[(sum(rng.random() < 0.9 for _ in range(3)), 3) for _ in range(70)] for _ in range(6)])
    assert asked < 70 * 30 / 4


def test_thousands_of_trials_per_night_are_no_overflow() -> None:
    """A factor may be larger than any float; the night is right nevertheless."""
    (fall,) = find_changes([[(5000, 5000)] * 4 + [(0, 5000)] * 2])
    assert (fall.fell, fall.first, fall.noticed) == (True, 4, 4)
    rise, again = find_changes([[(10, 90_000)] * 3 + [(90_000, 90_000)] * 3 + [(1, 90_000)] * 3] * 3)
    assert ((rise.fell, rise.first), (again.fell, again.first)) == ((False, 3), (True, 6))


def test_very_large_factors_keep_their_order() -> None:
    """The true night has the largest factor, also where it has to be compressed."""
    factors = bayes_factors(summed([(5000, 5000)] * 4 + [(0, 5000)] * 4), 0, range(1, 8), 8)
    assert max(factors) == factors[3]
    assert sorted(factors) == sorted(set(factors))


def test_the_same_rate_before_and_after_is_no_evidence() -> None:
    """In neither direction; a fall is positive and a rise negative."""
    assert bayes_factors(summed([(1, 2), (2, 4), (1, 2)]), 0, range(1, 3), 3) == [0.0, 0.0]
    fell, rose = (
        bayes_factors(summed(nights), 0, range(1, 2), 2)[0] for nights in ([(3, 3), (0, 3)], [(0, 3), (3, 3)])
    )
    assert fell > 1
    assert rose < -1
    assert bayes_factors(summed([(3, 3), (0, 3)]), 0, range(1, 2), 2, falls=False) == [0.0]
