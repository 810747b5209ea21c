from __future__ import annotations

from demeanor.runner.baselines import baseline_of
from tests.commands.histories import night, nights


def test_the_latest_twenty_nights_are_added_up() -> None:
    """Whatever the order they come in; nights without data don't count as nights."""
    cells = [*nights([3] * 5 + [2] * 20), night(99, 0, 0, voided=3)]
    found = baseline_of(reversed(cells), eval_hash="h1")
    assert found is not None
    assert (found.passed, found.failed, found.nights, found.mixed) == (40, 20, 20, False)


def test_nights_of_the_eval_before_an_edit_say_nothing_of_it() -> None:
    """An edited eval has no past, and neither has a new one."""
    assert baseline_of(nights([3] * 9), eval_hash="h2") is None
    assert baseline_of([], eval_hash="h1") is None


def test_only_nights_count_and_mixed_fingerprints_are_told() -> None:
    """A run on somebody's branch is no history."""
    cells = [*nights([3]), night(1, kind="ci"), night(2, fingerprint="f2")]
    found = baseline_of(cells, eval_hash="h1")
    assert found is not None
    assert (found.judged, found.fingerprints, found.mixed) == (6, ("f1", "f2"), True)
