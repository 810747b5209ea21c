from __future__ import annotations

from demeanor.decide.baseline import baseline_of
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


def test_another_agent_or_prompt_restarts_nothing_and_another_model_does() -> None:
    """A CI run of a branch does not count; what is unknown differs from nothing."""
    cells = [*nights([3, 3]), night(2, kind="ci"), night(3, fingerprint="f2"), night(4, fingerprint="")]
    found = baseline_of(cells, eval_hash="h1")
    assert found is not None
    assert (found.judged, found.fingerprints, found.mixed, found.left_out) == (12, ("f1", "f2"), True, 0)
    models = [night(number, model_hash=model) for number, model in enumerate(["m1", "m1", "", "m2", ""])]
    other = baseline_of(models, eval_hash="h1")
    assert other is not None
    assert (other.judged, other.left_out) == (9, 2)
