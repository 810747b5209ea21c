from __future__ import annotations

from demeanor.core.values.policy import Policy
from demeanor.core.values.trial import Plan, named_cell
from demeanor.decide.nights import latest_shifts
from demeanor.decide.nights.baseline import baseline_of, correlation_of
from demeanor.results import baselines_of
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


def test_only_nights_since_the_rate_changed_count() -> None:
    """An eval that was broken for ten nights, and is repaired, is compared with what it is now."""
    plan = Plan(cells=(named_cell("e", "a:m", policy=Policy.USUALLY_PASSES, trials=0),))
    broken, repaired = [0, 1, 0, 0, 1, 0, 0, 1, 0, 0], [3, 3, 3, 2, 3, 3, 3, 3, 3, 3]
    (found,) = baselines_of(plan, nights(broken + repaired), {"e": "h1"}).values()
    assert (found.passed, found.failed, found.nights) == (29, 1, 10)
    (steady,) = baselines_of(plan, nights([3, 2] * 10), {"e": "h1"}).values()
    assert steady.nights == 20


def test_the_correlation_is_that_of_the_nights_of_the_suite() -> None:
    """Evals that fail in whole nights have one, evals that fail now and then have hardly any; edits begin anew."""
    alike = [cell for n in range(20) for cell in nights([3 * (day % 5 != n % 5) for day in range(10)], eval=f"e{n}")]
    apart = [cell for n in range(20) for cell in nights([2 + ((day + n) % 2) for day in range(10)], eval=f"e{n}")]
    assert correlation_of(apart).value < 0.05
    assert correlation_of(alike).value > 0.4
    assert correlation_of(apart).nights == 200
    assert correlation_of([night(0, 0, 0, voided=3)]).nights == 0
    edited = [*nights([0] * 5, eval_hash="h1"), *nights([3] * 5, first=5, eval_hash="h2")]
    assert correlation_of(edited).value == correlation_of(nights([3] * 10)).value


def test_a_suite_that_breaks_is_no_correlation() -> None:
    """Otherwise the scan would take the fall of all evals for a bad night, and find nothing."""
    fallen = [cell for n in range(13) for cell in nights([3, 3, 3, 3, 3, 3, 0, 0], eval=f"e{n}")]
    assert correlation_of(fallen).value < 0.1
    assert len(latest_shifts(fallen, "n007")) == 13
