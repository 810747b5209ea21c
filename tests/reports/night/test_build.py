"""Nights as a value: what is missing stays missing, and what differs is not put together."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from demeanor.core.values.policy import Policy
from demeanor.reports.night.build import failing, voided
from tests.helpers.night_reports import SUBJECT, a_cell, a_night, a_week, changed, nights, one_row, report_of

NIGHT = st.one_of(st.just("-"), st.just("s"), st.text("pfv.", min_size=1, max_size=5))


def test_a_row_has_this_night_and_those_before_it() -> None:
    """With its interval, and the change since the last night."""
    row = one_row("ppp ppf pff")
    assert [cell.rate and round(cell.rate.value, 2) for cell in row.cells] == [1.0, 0.67, 0.33]
    assert (row.tonight.rate.low, row.tonight.rate.high) == pytest.approx((0.0615, 0.7923), abs=1e-3)
    assert row.change.value == pytest.approx(-1 / 3)
    assert row.change.since == "2026-11-10T01-00-03"
    assert not row.change.clear
    assert (row.together.rate.value, row.together.nights, row.together.mark) == (6 / 9, 3, None)


def test_a_night_with_only_voids_has_no_rate() -> None:
    """The change is since the last night that has a rate."""
    row = one_row("ppp vvv fff")
    assert (row.cells[1].state, row.cells[1].rate, row.cells[1].voided) == ("no data", None, 3)
    assert row.change.since == "2026-11-09T01-00-03"
    assert row.together.nights == 2


def test_tonight_without_data_is_compared_with_nothing() -> None:
    """And is undecided, not failed."""
    row = one_row("ppp vvv")
    assert row.change is None
    assert row.decision.answer == "undecided"
    assert row.together.rate.value == 1


def test_skipped_is_not_failed() -> None:
    """Nor judged."""
    row = one_row("ppp s")
    assert (row.tonight.state, row.tonight.rate, row.decision.answer) == ("skipped", None, "skipped")


def test_a_trial_that_was_not_run_is_missing() -> None:
    """In an interrupted night, only the finished trials count."""
    row = one_row("ppp p..")
    assert (row.tonight.judged, row.tonight.missing, row.tonight.rate.value) == (1, 2, 1.0)


def test_a_cell_that_no_run_of_the_night_tried_is_undecided_for_a_week() -> None:
    """Its row stays as long as a shown night has it. One that usually fails is not missed."""
    cells = nights({"saves": "ppp ppp", "old": "fff -"})
    report = report_of(cells + nights({"known": "fff -"}, policy=Policy.USUALLY_FAILS))
    assert (report.verdict, report.reason) == ("undecided", "1 undecided (1 not tried)")
    (subject,) = report.subjects
    assert {row.eval: row.decision and row.decision.answer for row in subject.rows} == {
        "saves": "accept", "old": "undecided", "known": None,
    }  # fmt: skip
    assert subject.totals[-1].evals == 1
    later = report_of(nights({"saves": "ppp " * 9, "old": "fff" + " -" * 8}))
    assert (later.verdict, later.subjects[0].rows[1].decision) == ("accepted", None)


def test_a_run_that_is_not_nightly_shows_its_own_evals_only() -> None:
    """It need not have all evals."""
    cells = nights({"saves": "ppp ppp", "other": "ppp -"})
    (subject,) = report_of(cells, kind="local").subjects
    assert [row.eval for row in subject.rows] == ["saves"]


@pytest.mark.parametrize(
    ("facts", "mark", "restarts"),
    [
        ({"fingerprint": "f2"}, "subject", False),
        ({"agent_version": "2.0", "fingerprint": "f2"}, "subject", False),
        ({"prompt_hash": "p2", "fingerprint": "f2"}, "subject", False),
        ({"model_hash": "m2", "fingerprint": "f2"}, "model", True),
        ({"eval_hash": "e2"}, "eval", True),
    ],
)
def test_changes_are_marked_and_another_eval_or_model_is_not_averaged(
    facts: dict[str, str], mark: str, restarts: bool
) -> None:
    """The combined rate is of the nights since the eval or the model changed; the difference is marked too."""
    cells = changed(nights({"saves": "fff fff ppp ppp"}, model_hash="m1"), "11-11", **facts)
    (row,) = report_of(cells).subjects[0].rows
    assert [cell.marks for cell in row.cells] == [(), (), (mark,), ()]
    assert row.together.rate is not None
    assert (row.together.rate.value, row.together.nights) == ((1.0, 2) if restarts else (0.5, 4))
    assert (row.together.mark, row.together.mixed) == (mark if restarts else None, not restarts)
    (row,) = report_of([cell for cell in cells if cell.started[5:10] <= "11-11"]).subjects[0].rows
    assert row.change is not None
    assert not row.change.alike


def test_a_change_is_seen_across_a_night_without_data() -> None:
    """Void trials have no fingerprint."""
    cells = changed(nights({"saves": "ppp vvv ppp"}), "11-11", fingerprint="f2")
    (row,) = report_of(cells).subjects[0].rows
    assert row.tonight.marks == ("subject",)


def test_a_night_with_two_versions_of_the_subject_is_marked() -> None:
    """The agent was updated while it ran."""
    cells = nights({"saves": "ppp ppp ppp"})
    cells[1] = a_cell(a_night(10), "saves", "ppp", fingerprint="f1 + f2")
    (row,) = report_of(cells).subjects[0].rows
    assert row.cells[1].mixed
    assert (row.together.nights, row.together.mixed) == (3, True)


def test_the_total_is_the_mean_over_evals_with_data() -> None:
    """All evals have the same weight, whatever the number of trials; evals without data have none."""
    (subject,) = report_of(nights({"a": "ppp pppppp", "b": "fff fff", "c": "ppp vvv"})).subjects
    assert subject.totals[-1].rate is not None
    assert (subject.totals[-1].rate.value, subject.totals[-1].judged, subject.totals[-1].evals) == (0.5, 2, 3)
    assert subject.totals[-1].voided == 3
    assert subject.change is not None
    assert (subject.change.value, subject.change.evals) == (0.0, 2)


def test_a_total_of_voids_is_no_data() -> None:
    """A provider outage is not a drop to zero."""
    (subject,) = report_of(nights({"a": "ppp vvv ppp", "b": "ppp vvv ppp"})).subjects
    assert subject.totals[1].rate is None
    assert subject.change is not None
    assert subject.change.since == "2026-11-09T01-00-03"


def test_an_edited_eval_is_left_out_of_the_change_of_the_whole() -> None:
    """Its rates before and after can't be compared."""
    cells = [*nights({"a": "ppp ppp", "b": "ppp ppp"}), *changed(nights({"c": "fff ppp"}), "11-10", eval_hash="e2")]
    (subject,) = report_of(cells).subjects
    assert subject.change is not None
    assert (subject.change.value, subject.change.evals, subject.change.alike) == (0.0, 2, True)


def test_one_change_of_many_evals_is_shown_once() -> None:
    """With its evals."""
    cells = changed(nights({"a": "ppp ppp", "b": "ppp ppp"}), "11-10", agent_version="2.0", fingerprint="f2")
    (subject,) = report_of(cells).subjects
    (found,) = subject.changes
    assert (found.part, found.before, found.after, found.evals) == ("agent", "1.4.0", "2.0", ("a", "b"))


def test_the_worst_failures_come_first_and_known_bad_ones_not_at_all() -> None:
    """Rejected ones, then the lowest rates."""
    cells = [
        *nights({"tolerated": "ppf", "good": "ppp", "worse": "fff", "bad": "pff"}),
        *nights({"known": "fff"}, policy=Policy.USUALLY_FAILS),
    ]
    assert [row.eval for row, _ in failing(report_of(cells))] == ["worse", "bad", "tolerated"]


def test_evals_without_a_verdict_come_first_among_the_voids() -> None:
    """They have no data at all."""
    assert [row.eval for row, _ in voided(report_of(nights({"some": "ppv", "all": "vvv"})))] == ["all", "some"]


def test_subjects_keep_the_order_of_this_night() -> None:
    """And those that are gone come last."""
    assert [one.subject for one in a_week().subjects] == [SUBJECT, "acme-cli:large-2"]


@given(st.lists(NIGHT, min_size=1, max_size=9).filter(lambda words: any(word != "-" for word in words)))
def test_rates_match_the_judged_trials(words: list[str]) -> None:
    """There is a rate exactly where trials were judged, and every judged trial is of some night."""
    (subject,) = report_of(nights({"saves": " ".join(words), "other": "p " * len(words)})).subjects
    row = next(row for row in subject.rows if row.eval == "saves")
    for word, cell in zip(words, row.cells, strict=True):
        judged = word.count("p") + word.count("f")
        assert (cell.rate is not None) == (cell.state == "judged") == (judged > 0)
        assert (cell.judged, cell.voided) == (judged, word.count("v"))
    total = sum(word.count("p") + word.count("f") for word in words)
    assert (row.together.rate is not None) == (total > 0)
    if row.change is not None:
        assert row.change.low <= row.change.value <= row.change.high


def test_the_batch_has_one_total_with_its_nights():
    """It is the mean over the cells of all subjects; nights with fewer subjects say so by their number of cells."""
    cells = [
        *nights({"a": "ppp ppp pff", "b": "ppp pff ppp"}, first=10),
        *nights({"a": "- fff ppp"}, first=10, subject="other:m"),
        *nights({"known": "- fff fff"}, first=10, subject="other:m", policy=Policy.USUALLY_FAILS),
    ]
    batch = report_of(cells).batch
    assert batch is not None
    rates = [round(total.rate.value, 3) for total in batch.totals if total.rate]
    assert rates == [1.0, round((1 + 1 / 3 + 0) / 3, 3), round((1 / 3 + 1 + 1) / 3, 3)]
    assert [(total.judged, total.known_bad) for total in batch.totals] == [(2, 0), (3, 1), (3, 1)]
    now = batch.totals[-1].rate
    assert now is not None
    assert now.low < now.value < now.high
    assert batch.change is not None
    assert (round(batch.change.value, 3), batch.change.evals) == (round((-2 / 3 + 2 / 3 + 1) / 3, 3), 3)


def test_a_single_subject_has_no_other_total():
    """It would be the same."""
    assert report_of(nights({"a": "ppp ppp"})).batch is None
