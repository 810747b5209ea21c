from __future__ import annotations

import pytest

from demeanor.render.terminal import Screen
from demeanor.reports.metrics.render import analysis_terminal
from demeanor.reports.metrics.report import AnalysisSource, Planned, analysis
from tests.helpers.run_reports import HOSTILE
from tests.helpers.runs import record, records


def source(name: str, letters: str, **more: object) -> AnalysisSource:
    return AnalysisSource(name=name, records=tuple(records(letters, **more)))


def test_the_unbiased_numbers() -> None:
    """2 of 3: pass@3 and pass^3 are estimated from the rate."""
    (row,) = analysis([source("a", "ppf")]).rows
    assert (row.tally.pass_at[3], row.tally.pass_hat[3]) == pytest.approx((26 / 27, 8 / 27))


def test_runs_of_the_same_versions_are_combined() -> None:
    """Including their voids, which don't count."""
    (row,) = analysis(
        [source("a", "vvv"), source("b", "ppf", fingerprint="f1"), source("c", "ppp", fingerprint="f1")]
    ).rows
    assert (row.tally.passed, row.tally.judged, row.tally.voided, row.differs) == (5, 6, 3, False)
    assert sorted(row.runs) == ["a", "b", "c"]


def test_different_versions_have_their_own_rows() -> None:
    """And marked."""
    found = analysis([source("a", "ppp", model_hash="m1"), source("b", "fff", model_hash="m2")])
    assert [(row.tally.passed, row.tally.judged, row.differs) for row in found.rows] == [(3, 3, True), (0, 3, True)]
    assert analysis_terminal(found).count("◆") == 3


def test_versions_in_one_row_are_marked_and_only_then() -> None:
    """Another agent or prompt begins no new row."""
    versions = [source("a", "ppp", fingerprint="f1"), source("b", "fff", fingerprint="f2")]
    found = analysis(versions)
    assert [(row.tally.judged, row.mixed, row.differs) for row in found.rows] == [(6, True, False)]
    assert "◆ trials of different versions of the subject are in one row" in analysis_terminal(found)
    same = analysis([source("a", "ppp", fingerprint="f1"), source("b", "fff", fingerprint="f1")])
    assert [row.mixed for row in same.rows] == [False]
    assert "◆" not in analysis_terminal(same)


def test_the_last_attempt_counts() -> None:
    """The usage of earlier, void attempts is included."""
    first, *_ = records("v")
    (row,) = analysis([AnalysisSource(name="a", records=(first, record(1, attempt=2)))]).rows
    assert (row.tally.passed, row.tally.voided, row.tally.attempts) == (1, 0, 2)


def test_skipped_and_unclassified_are_shown() -> None:
    """A skipped eval has no rate; the number of unclassified failures is shown even if it is 0."""
    plan = {("later", "a:m"): Planned(skipped="no key")}
    text = analysis_terminal(analysis([AnalysisSource(name="a", records=(), planned=plan)]))
    assert "skipped" in text
    assert "0  unclassified" in text


def test_hostile_text_does_no_harm() -> None:
    """It is escaped."""
    for bad in HOSTILE.values():
        text = analysis_terminal(
            analysis([source(bad[:200], "pfv", eval=bad[:300], subject=bad[:200])]), Screen(width=80)
        )
        assert not {sign for sign in text if not sign.isprintable()} - {"\n"}
