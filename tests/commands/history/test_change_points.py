from __future__ import annotations

import random

import pytest

from demeanor.commands.history.change_points import WARM_UP, rate_history
from tests.helpers.histories import night, nights


def test_a_drop_is_found_with_its_first_night_and_what_changed_then() -> None:
    """Such as a new prompt in that night."""
    cells = [
        *nights([3, 3, 2, 3, 3, 3, 3, 3, 3, 3, 3, 2, 3, 3], prompt_hash="p1"),
        *nights([1, 1, 0, 1, 1, 2, 1, 0, 1, 1], first=14, prompt_hash="p2", fingerprint="f2"),
    ]
    course = rate_history(cells)
    (point,) = course.points
    assert (point.direction, point.began, point.noticed) == ("fall", "n014", "n016")
    assert (point.before, point.after) == ((40, 42), (9, 30))
    assert [(cause.part, cause.before, cause.after) for cause in point.causes] == [("prompt", "p1", "p2")]
    assert course.fingerprints == ("f1", "f2")
    assert course.nights_between_false_alarms == 400


def test_a_recovery_is_found_too() -> None:
    """A rise after a drop."""
    course = rate_history(nights([3] * 12 + [1, 0, 1, 1, 0, 1, 1, 1, 0, 1] + [3] * 12))
    assert [point.direction for point in course.points] == ["fall", "rise"]
    assert course.points[1].began in {"n021", "n022"}
    assert course.points[1].after[0] >= 36


@pytest.mark.parametrize(("rate", "nights_between"), [(0.95, 400), (0.9, 400), (0.7, 200)])
def test_false_alarms_are_as_rare_as_documented(rate: float, nights_between: int) -> None:
    """Histories of 60 nights without a change, with an estimated normal rate."""
    rng, alarms, watched = random.Random(5), 0, 0
    for _ in range(150):
        cells = nights([sum(rng.random() < rate for _ in range(3)) for _ in range(60)])
        falls = [point for point in rate_history(cells).points if point.direction == "fall"]
        alarms += len(falls)
        watched += 60 - WARM_UP
    assert watched / max(1, alarms) >= nights_between * 0.75


def test_an_edit_starts_a_new_segment_without_an_alarm() -> None:
    """An edited eval may have another rate."""
    course = rate_history([*nights([3] * 12), *nights([1] * 12, first=12, eval_hash="h2")])
    assert course.points == ()
    assert [(change.part, change.run) for change in course.changes] == [("eval", "n012")]


def test_every_kind_of_change_is_marked_and_unknown_values_are_not() -> None:
    """Agent, prompt, policy and, if nothing else explains the fingerprint, the subject itself."""
    cells = [
        night(0, agent_version="1"),
        night(1, agent_version="2", fingerprint="f2"),
        night(2, agent_version="2", fingerprint="f3"),
        night(3, agent_version=None, fingerprint=""),
        night(4, agent_version="2", fingerprint="f3", eval_hash=""),
    ]
    assert [(change.part, change.run) for change in rate_history(cells).changes] == [
        ("agent", "n001"),
        ("subject", "n002"),
    ]


def test_nights_without_data_are_left_out_and_few_nights_are_not_enough() -> None:
    """There is no normal rate before the warm-up ends."""
    course = rate_history([*nights([3] * 4), night(4, 0, 0, voided=3)])
    assert (course.points, course.assumed_rate) == ((), None)
    assert rate_history([]).fingerprints == ()
    assert rate_history(nights([3] * 10)).assumed_rate == 0.97
