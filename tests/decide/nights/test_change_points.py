from __future__ import annotations

from collections.abc import Sequence

from demeanor.core.values.history import RunCell
from demeanor.core.values.run_diff import RateHistory
from demeanor.decide.nights.change_points import rate_histories
from tests.helpers.histories import SUBJECTS, night, nights


def rate_history(cells: Sequence[RunCell]) -> RateHistory:
    """The history of the only subject."""
    (found,) = rate_histories(cells).values()
    return found


def test_a_drop_is_found_with_its_first_night_and_what_changed_then() -> None:
    """Such as a new prompt in that night."""
    cells = [
        *nights([3, 3, 2, 3, 3, 3, 3, 3, 3, 3, 3, 2, 3, 3], prompt_hash="p1"),
        *nights([1, 1, 0, 1, 1, 2, 1, 0, 1, 1], first=14, prompt_hash="p2", fingerprint="f2"),
    ]
    course = rate_history(cells)
    (point,) = course.points
    assert (point.direction, point.began, point.noticed) == ("fall", "n014", "n015")
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
    """Two nights can't show a change."""
    course = rate_history([*nights([3] * 2), night(4, 0, 0, voided=3)])
    assert (course.points, course.nights, course.enough) == ((), 2, False)
    assert rate_history(nights([3] * 3)).enough
    assert rate_histories([]) == {}


def test_subjects_are_scanned_together() -> None:
    """One bad night of one subject is no alarm, of three it is; each has its own counts."""
    falling = [3, 3, 3, 3, 1]
    assert rate_history(nights(falling)).points == ()
    found = rate_histories([cell for subject in SUBJECTS for cell in nights(falling, subject=subject)])
    assert [[point.began for point in found[subject].points] for subject in SUBJECTS] == [["n004"]] * 3
    assert found["a:m"].points[0].before == (12, 12)


def test_a_change_has_a_range_of_nights_with_their_commits() -> None:
    """The last night surely before it and the first surely after it."""
    cells = [
        night(number, score, 3 - score, commit=f"c{number}") for number, score in enumerate([3] * 6 + [2, 1, 1, 0])
    ]
    (point,) = rate_history(cells).points
    assert (point.last_before, point.first_after) == ("n004", "n007")
    assert point.commits == ("c4", "c7")
    (unknown,) = rate_history(nights([3] * 6 + [0] * 3)).points
    assert unknown.commits is None


def test_a_subject_that_misses_the_night_of_the_change_gets_its_next_one() -> None:
    """Its own nights are named, not those of the others."""
    others = [cell for subject in ("b:m", "c:m") for cell in nights([3] * 6 + [0] * 4, subject=subject)]
    own = [cell for cell in nights([3] * 6 + [0] * 4) if cell.run not in {"n005", "n006"}]
    (point,) = rate_histories([*others, *own])["a:m"].points
    assert (point.last_before, point.began, point.first_after) == ("n004", "n007", "n007")
