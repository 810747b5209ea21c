from __future__ import annotations

from demeanor.core.values.history import RunCell
from demeanor.reports.comparison.report import Side
from demeanor.reports.comparison.versions import latest_versions
from tests.helpers.histories import night


def side(*cells: RunCell) -> Side:
    return Side(name="a:m", kind="subject", runs=tuple(dict.fromkeys(cell.run for cell in cells)), cells=cells)


def test_runs_before_the_subject_changed_are_left_out_with_a_note() -> None:
    """Of each side and each subject; a side without a change stays as it is."""
    base = side(night(0), night(1), night(2, fingerprint="f2"), night(2, subject="b:m"))
    new = side(night(3), night(4, fingerprint="f9"))
    found, other, notes = latest_versions(base, new)
    assert [(cell.run, cell.subject) for cell in found.cells] == [("n002", "a:m"), ("n002", "b:m")]
    assert (found.runs, other.runs) == (("n002",), ("n004",))
    assert notes == (
        "◆ a:m changed after n001: 2 earlier runs of the base are left out (--across counts them, too)",
        "◆ a:m changed after n003: 1 earlier run of the new side is left out (--across counts it, too)",
    )
    same = side(night(0), night(1))
    assert latest_versions(same, same) == (same, same, ())


def test_each_eval_keeps_its_latest_version() -> None:
    """An eval that was last tried before the change is compared by what is known of it."""
    base = side(night(0), night(0, eval="old"), night(1, fingerprint="f2"))
    found, _, _ = latest_versions(base, base)
    assert [(cell.eval, cell.run) for cell in found.cells] == [("old", "n000"), ("e", "n001")]


def test_unknown_fingerprints_match_and_two_versions_in_one_run_stand_alone() -> None:
    """A run with two versions of the subject is combined with no other run."""
    unknown = side(night(0), night(1, fingerprint=""), night(2))
    assert latest_versions(unknown, unknown)[0] == unknown
    both = side(night(0, fingerprint="f1 + f2"), night(1, fingerprint="f1 + f2"))
    assert latest_versions(both, both)[0].runs == ("n001",)


def test_void_trials_of_an_earlier_version_are_left_out_and_never_replace_judged_ones() -> None:
    """A night without a verdict after a change says nothing about the new version."""
    void = night(2, 0, 0, voided=3, fingerprint="f2")
    base = side(night(0, fingerprint="f0"), night(1), void)
    found, _, _ = latest_versions(base, base)
    assert found.runs == ("n001",)
    nothing = side(void)
    assert latest_versions(nothing, nothing)[0] == nothing
