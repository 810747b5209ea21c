"""One night out of several runs, in a real history: its trials are added up, wherever nights are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from demeanor.config.config import read_config
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record, RunInfo
from demeanor.decide.promotion import promote
from demeanor.reports.eval_history import make_eval_history
from demeanor.reports.night import NightReport, make_night_report, near_of_night
from demeanor.results import all_nights, cells_of_nights, counted_nights, night_filter, nights_until
from demeanor.store.history import SqlHistory, open_history
from demeanor.store.history.run_writer import RunWriter, WrittenRecord
from demeanor.web.pages.context import PageContext
from demeanor.web.pages.site import DashboardSite
from tests.helpers.runs import records
from tests.vcs.test_commit_range import Repository


@pytest.fixture
def history(tmp_path: Path) -> Iterator[SqlHistory]:
    with open_history(str(tmp_path / "history.db")) as found:
        yield found


def add(
    history: SqlHistory, name: str, cells: dict[str, str] | list[Record], *, commit: str | None = None, **more: object
) -> None:
    """Add a nightly run, called by its day and hour: `05-03`; `p1="ppf"` are the trials of an eval."""
    day, hour = name.split("-")
    info = RunInfo(
        id=name, started=f"2026-01-{day}T{hour}:00:00+00:00", uid=name.rjust(16, "0"), kind="nightly", commit=commit,
        branch="main" if commit else None, dirty=False if commit else None,
    )  # fmt: skip
    made = cells
    if isinstance(made, dict):
        made = [one for key, word in made.items() for one in records(word, eval=key, subject="a:m", **more)]
    RunWriter(history.database, info).write((), [WrittenRecord(record=one) for one in made])


def report(history: SqlHistory, tmp_path: Path, run: str) -> NightReport:
    return make_night_report(history, history.run(run), read_config(tmp_path))


def test_the_second_half_of_a_night_does_not_hide_what_the_first_rejected(history: SqlHistory, tmp_path: Path) -> None:
    """Whichever run is asked for, the report is that of the night, with the failures of each run."""
    add(history, "01-03", {"p1": "ppp", "p2": "ppp"})
    add(history, "02-03", {"p2": "fff"})
    add(history, "02-05", {"p1": "ppp"})
    for run in ("02-03", "02-05"):
        found = report(history, tmp_path, run)
        assert (found.verdict, found.reason) == ("rejected", "1 of 2 cells rejected")
        assert [night.names for night in found.nights] == [("01-03",), ("02-03", "02-05")]
        assert [(one.eval, one.ways[0].run) for one in found.failures] == [("p2", "02-03")]
        assert {row.eval: row.run for row in found.subjects[0].rows} == {"p2": "02-03", "p1": "02-05"}
    context = PageContext(
        config=read_config(tmp_path), environ={"DEMEANOR_STORE": f"{tmp_path}/history.db"}, results=tmp_path
    )
    page = DashboardSite(context).page("overview", {}, {})
    for shown in ("1 of 2 cells rejected", "/trial/02-03/p2", "/trial/02-05/p1"):
        assert shown in page
    page = DashboardSite(context).page("eval", {"eval": "p2"}, {})
    assert page.count("/trial/02-03/p2/a%3Am/first") == 2, "in the chart and in its table"
    assert "/trial/02-05/p2" not in page


def test_a_half_that_never_ran_leaves_the_night_undecided(history: SqlHistory, tmp_path: Path) -> None:
    """It is named; a run that is not a night need not have everything."""
    add(history, "01-03", {"p1": "ppp", "p2": "ppp"})
    add(history, "02-05", {"p1": "ppp"})
    found = report(history, tmp_path, "02-05")
    assert (found.verdict, found.reason) == ("undecided", "1 undecided (1 not tried)")
    decision = found.row("p2", "a:m").decision
    assert decision is not None
    assert decision.reason == "no run of this night tried it, but 1 night of the week before did"
    (note,) = (note for note in found.notes if "on purpose" in note)
    assert note.endswith(': [nightly] accepted = { "p2" = "2026-01-02" }')
    for day, verdict in (("2026-01-02", "accepted"), ("2025-12-31", "undecided")):
        (tmp_path / "demeanor.toml").write_text(f'[nightly]\naccepted = {{ "p2" = "{day}" }}\n')
        assert report(history, tmp_path, "02-05").verdict == verdict


def test_a_repetition_on_red_promotes_nothing(history: SqlHistory, tmp_path: Path) -> None:
    """Not at the same commit, nor at another one: the night failed, and so did the day."""
    policy = Policy.USUALLY_PASSES
    for day in range(1, 17):
        add(history, f"{day:02}-03", {"e": "ppp"}, policy=policy)
    rules = night_filter(read_config(tmp_path))

    def answers() -> tuple[str, int]:
        counted = counted_nights(history, rules)
        cells = list(counted.cells(history, {"e": None}))
        runs = [(night.info.started, night.name) for night in counted.nights]
        (found,) = promote(cells, {"e": ("a:m",)}, nights=runs)
        return found.answer, len(counted.nights)

    assert answers() == ("promote", 16)
    for run, word, commit in (("17-03", "ppf", "c1"), ("17-04", "ppp", "c1"), ("17-05", "ppp", "c2")):
        add(history, run, {"e": word}, policy=policy, commit=commit)
    assert answers() == ("wait", 17)
    assert near_of_night(history, history.run("17-05"), read_config(tmp_path)) == ()


def test_a_trial_that_two_runs_have_counts_once(history: SqlHistory) -> None:
    """It is known by its capture, and counts in the later run; a repetition is another trial."""
    made = [replace(one, capture_hash=f"c{one.number}") for one in records("fp", eval="e", subject="a:m")]
    add(history, "01-03", made)
    add(history, "01-04", made)
    add(history, "01-05", records("pp", eval="e", subject="a:m"))
    (cell,) = cells_of_nights(history, all_nights(history))
    assert (cell.passed, cell.failed, cell.run, cell.runs) == (3, 1, "01-05", ("01-04", "01-05"))


def test_another_version_begins_another_night(history: SqlHistory) -> None:
    """At another commit, or with another agent: parts that differ are shown apart, in every report."""
    add(history, "01-03", {"e": "fff", "other": "p"}, commit="c1", fingerprint="f1", eval_hash="h")
    add(history, "01-04", {"e": "ppp"}, commit="c1", fingerprint="f2", eval_hash="h")
    add(history, "01-05", {"new": "p"}, commit="c1", fingerprint="f1", eval_hash="h")
    add(history, "01-06", {"e": "ppf"}, commit="c2", fingerprint="f1", eval_hash="h")
    nights = nights_until(history, history.run("01-06"), 7)
    assert [night.names for night in nights] == [("01-03",), ("01-04", "01-05"), ("01-06",)]
    cells = [cell for cell in cells_of_nights(history, nights) if cell.eval == "e"]
    assert [(cell.passed, cell.judged, cell.run) for cell in cells] == [
        (0, 3, "01-03"),
        (3, 3, "01-05"),
        (2, 3, "01-06"),
    ]
    (subject,) = make_eval_history(history, "e").subjects
    assert [(one.source, one.cell.passed) for one in subject.past] == [("01-03", 0), ("01-04", 3), ("01-06", 2)]


def test_the_page_of_an_eval_says_which_nights_do_not_count(history: SqlHistory, tmp_path: Path) -> None:
    """And why: here the runs have no commit, though the project is in a repository."""
    add(history, "01-03", {"writes": "ppp"}, policy=Policy.USUALLY_PASSES)
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "eval_a.py").write_text(
        "from demeanor import USUALLY_PASSES, eval_test\n\n\n@eval_test(USUALLY_PASSES, prompt='x')\n"
        "def writes(rig, result):\n    assert result\n"
    )
    (tmp_path / "demeanor.toml").write_text("")
    Repository(tmp_path).commit("one")
    context = PageContext(
        config=read_config(tmp_path), environ={"DEMEANOR_STORE": f"{tmp_path}/history.db"}, results=tmp_path
    )
    page = DashboardSite(context).page("eval", {"eval": "writes"}, {})
    assert "0 nights of the history count" in page
    assert "1 nightly run not counted: 1 without a commit" in page


def test_the_versions_of_a_day_stay_in_their_order(history: SqlHistory, tmp_path: Path) -> None:
    """Whatever their commits are called: a change that was made at noon is one change, and not two."""
    for run, commit in (("01-03", "b"), ("02-03", "b"), ("02-12", "a"), ("03-03", "a"), ("04-03", "c"), ("04-12", "d")):
        add(history, run, {"e": "ppp"}, commit=commit)
    cells = counted_nights(history, night_filter(read_config(tmp_path))).cells(history, {"e": None})
    assert [cell.commit for cell in cells] == ["b", "b", "a", "a", "c", "d"]
