"""What every format of a night says before its table, from a real history."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from demeanor.config.config import read_config
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import RunInfo
from demeanor.reports.night.digest import MOST, digest, verdict
from demeanor.reports.night.markdown import night_markdown
from demeanor.reports.night.near import near_of_night
from demeanor.reports.night.report import NightReport
from demeanor.reports.night.terminal import night_terminal
from demeanor.reports.night.workflow import make_night_report
from demeanor.store.history import SqlHistory, open_history
from demeanor.store.history.run_writer import RunWriter, WrittenRecord
from demeanor.web.night_file import night_html
from tests.helpers.night_reports import nights, report_of
from tests.helpers.runs import records

TITLES = ["Got worse", "Got better", "News", "Void, so not counted", "Near promotion"]
EVALS = {
    "falls": "ppp ppp ppp ppp ppp ppp pff fff",
    "rises": "fff fff fff fff fff ppp ppp ppp",
    "holds": "ppp ppp ppp ppp ppp ppp ppp ppp",
    "breaks": "ppp ppp ppp ppp ppp ppp ppp ppv",
}


@pytest.fixture
def history(tmp_path: Path) -> Iterator[SqlHistory]:
    """Eight nights: one eval got worse, one better, one is news, one has a void, one is near its promotion."""
    with open_history(str(tmp_path / "history.db")) as found:
        for number in range(8):
            info = RunInfo(
                id=f"night-{number}", started=f"2026-01-{number + 1:02}T03:00:00+00:00", uid=f"{number:016}",
                kind="nightly", commit=f"{number}{0:039}", branch="main", dirty=False,
            )  # fmt: skip
            written = [
                WrittenRecord(record=one)
                for name, words in {**EVALS, "surprises": "ppp"}.items()
                for one in records(
                    words.split()[number] if name in EVALS else "ppp",
                    eval=name,
                    subject="a:m",
                    policy=Policy.USUALLY_FAILS if name == "surprises" else Policy.USUALLY_PASSES,
                )
            ]
            RunWriter(found.database, info).write((), written)
        yield found


def report(history: SqlHistory, folder: Path) -> NightReport:
    """The report of the last night."""
    config = read_config(folder)
    return make_night_report(history, history.run(), config, near=near_of_night(history, history.run(), config))


def test_a_night_starts_with_what_to_know_first(history: SqlHistory, tmp_path: Path) -> None:
    """Verdict, worse, better, news, voids, near promotion: in this order, before the table, in each format."""
    found = report(history, tmp_path)
    assert verdict(found).startswith("Rejected: 1 of 5 cells rejected")
    sections = {section.title: section.items for section in digest(found)}
    assert list(sections) == TITLES
    (worse,) = sections["Got worse"]
    assert worse.text == (
        "falls · a:m: 100 % → 17 % (18/18 → 1/6), between 2026-01-05 and 2026-01-07, commits 4000000..6000000"
    )
    assert worse.commands[0] == "demeanor trace falls/a:m/1 --run night-7"
    assert worse.commands[1:] == (found.worse[0].compare, found.worse[0].bisect)
    assert [item.text for item in sections["Void, so not counted"]] == ["provider: 1 trial"]
    assert sections["News"][0].text.startswith("★ surprises · a:m: ")
    why = "(8 of 10 nights in which every enabled subject was judged)"
    near = [item.text for item in sections["Near promotion"]]
    assert near == [f"holds: needs at least 8 further perfect nights {why}"]
    for text in (night_terminal(found), night_markdown(found)):
        marks = ["Rejected: ", *TITLES, "otal pass rate"]
        assert sorted(marks, key=text.index) == marks
    page = night_html(found)
    marks = ["rejected", "Got worse", "Got better", "News", "Void trials", "Near promotion", "Evals and subjects"]
    assert sorted(marks, key=page.index) == marks


def test_a_repetition_hides_no_failure(history: SqlHistory, tmp_path: Path) -> None:
    """An eval that failed is far from its promotion, although a later run of the same night was perfect: a night is the
    sum of its trials. Both runs have the same report."""
    config = read_config(tmp_path)
    assert [one.eval for one in near_of_night(history, history.run(), config)] == ["holds"]
    for name, letters in (("failed", "fff"), ("repeated", "ppp")):
        run = RunInfo(
            id=name, started=f"2026-01-08T0{len(name)}:00:00+00:00", uid=name.rjust(16, "0"), kind="nightly",
            commit=f"7{0:039}", branch="main", dirty=False,
        )  # fmt: skip
        found = records(letters, eval="holds", subject="a:m", policy=Policy.USUALLY_PASSES)
        RunWriter(history.database, run).write((), [WrittenRecord(record=one) for one in found])
    for name in ("failed", "repeated"):
        assert near_of_night(history, history.run(name), config) == ()
        found = make_night_report(history, history.run(name), config)
        row = found.row("holds", "a:m")
        assert (row.tonight.passed, row.tonight.judged) == (6, 9)


def test_a_quiet_night_has_no_sections() -> None:
    """Only the verdict."""
    quiet = report_of(nights({"holds": "ppp ppp ppp"}))
    assert verdict(quiet) == "Accepted: the only cell holds"
    assert list(digest(quiet)) == []


def test_a_long_list_is_cut() -> None:
    """The number of what is left out is told."""
    evals = {f"falls_{number:02}": "ppp ppp ppp ppp ppp ppp fff fff fff fff" for number in range(MOST + 3)}
    (worse,) = digest(report_of(nights(evals)))
    assert (len(worse.items), worse.more) == (MOST, 3)
    assert "… and 3 more" in night_terminal(report_of(nights(evals)))
