from __future__ import annotations

from demeanor.runner.baselines import baseline_of
from tests.helpers.histories import night, nights


def test_the_latest_twenty_nights_are_added_up() -> None:
    """In any order; nights without judged trials do not count."""
    cells = [*nights([3] * 5 + [2] * 20), night(99, 0, 0, voided=3)]
    found = baseline_of(reversed(cells), eval_hash="h1")
    assert found is not None
    assert (found.passed, found.failed, found.nights, found.mixed) == (40, 20, 20, False)


def test_nights_before_an_edit_of_the_eval_do_not_count() -> None:
    """An edited eval has no baseline, like a new one."""
    assert baseline_of(nights([3] * 9), eval_hash="h2") is None
    assert baseline_of([], eval_hash="h1") is None


def test_only_nights_count_and_mixed_fingerprints_are_reported() -> None:
    """A CI run of a branch does not count."""
    cells = [*nights([3]), night(1, kind="ci"), night(2, fingerprint="f2")]
    found = baseline_of(cells, eval_hash="h1")
    assert found is not None
    assert (found.judged, found.fingerprints, found.mixed) == (6, ("f1", "f2"), True)
