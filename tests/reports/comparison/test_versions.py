from __future__ import annotations

from demeanor.core.values.history import RunCell
from demeanor.reports.comparison.report import Side
from demeanor.reports.comparison.versions import latest_versions
from tests.helpers.histories import night


def side(*cells: RunCell) -> Side:
    return Side(name="a:m", kind="subject", runs=tuple(dict.fromkeys(cell.run for cell in cells)), cells=cells)


def test_runs_with_an_earlier_model_are_left_out_with_a_note() -> None:
    """Of each side and each subject; a side without a change stays as it is."""
    base = side(
        night(0, model_hash="m1"), night(1, model_hash="m1"), night(2, model_hash="m2"), night(2, subject="b:m")
    )
    new = side(night(3, model_hash="m1"), night(4, model_hash="m9"))
    found, other, notes = latest_versions(base, new)
    assert [(cell.run, cell.subject) for cell in found.cells] == [("n002", "a:m"), ("n002", "b:m")]
    assert (found.runs, other.runs) == (("n002",), ("n004",))
    assert notes == (
        "◆ the model of a:m changed after n001: 2 earlier runs of the base are left out",
        "◆ the model of a:m changed after n003: 1 earlier run of the new side is left out",
    )
    same = side(night(0, model_hash="m1"), night(1, model_hash="m1"))
    assert latest_versions(same, same) == (same, same, ())


def test_each_eval_keeps_its_latest_version() -> None:
    """An eval that was last tried before the change is compared by what is known of it."""
    base = side(night(0, model_hash="m1"), night(0, eval="old", model_hash="m1"), night(1, model_hash="m2"))
    found, _, _ = latest_versions(base, base)
    assert [(cell.eval, cell.run) for cell in found.cells] == [("old", "n000"), ("e", "n001")]


def test_another_agent_and_what_is_unknown_are_kept() -> None:
    """What changed between two stretches of nights is what their comparison is about."""
    every = side(
        night(0, fingerprint="f1"), night(1, fingerprint="f2"), night(2, model_hash="m1"), night(3, model_hash="")
    )
    assert latest_versions(every, every)[0] == every


def test_void_trials_never_replace_judged_ones() -> None:
    """A night without a verdict says nothing about its model."""
    base = side(night(0, model_hash="m1"), night(1, 0, 0, voided=3))
    assert latest_versions(base, base)[0] == base
