"""Changes of rates are looked for once per night, and again when one of the nights has changed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from demeanor.core.values.record import RunInfo
from demeanor.decide.nights.shifts import RateShift, rate_shifts
from demeanor.reports.night import shift_scan as module
from demeanor.reports.night.shift_scan import kept_shifts, shifts_are_ready
from demeanor.results import nights_until
from demeanor.store.history import SqlHistory, open_history
from demeanor.store.history.run_writer import RunWriter, WrittenRecord
from tests.helpers.runs import records

GOOD, BAD = "ppp", "fff"


def add(history: SqlHistory, number: int, outcomes: str) -> None:
    """Add a night, or trials to it."""
    info = RunInfo(
        id=f"night-{number:02}", started=f"2026-01-{number:02}T03:00:00+00:00", uid=f"{number:016}", kind="nightly"
    )
    found = [WrittenRecord(record=one) for one in records(outcomes, eval="saves", subject="a:m")]
    RunWriter(history.database, info).write((), found)


@pytest.fixture
def history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SqlHistory]:
    """Six good nights and two bad ones; everything is worth keeping."""
    monkeypatch.setattr(module, "_WORTH_KEEPING", 0.0)
    with open_history(str(tmp_path / "history.db")) as found:
        for number, outcomes in enumerate([GOOD] * 6 + [BAD] * 2, 1):
            add(found, number, outcomes)
        yield found


def ask(history: SqlHistory, **more: Any) -> tuple[RateShift, ...]:
    """The changes that a report of the last night shows."""
    return kept_shifts(history, nights_until(history, history.run(), 0)[-1], **more)


def test_the_second_report_reads_what_the_first_one_found(history: SqlHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same changes as by a scan."""
    cells = history.nightly_cells(None)
    first = ask(history)
    assert first == rate_shifts(cells, {cell.run for cell in cells}, "night-08")
    assert [(one.fell, one.last_before.name, one.first_after.name) for one in first] == [(True, "night-06", "night-07")]

    def scan(*_: object) -> tuple[()]:
        raise AssertionError("scanned again")

    monkeypatch.setattr(module, "latest_shifts", scan)
    assert ask(history) == first


def test_a_night_that_changes_is_scanned_again(history: SqlHistory) -> None:
    """A trial that is added to a stored night, and a new night."""
    assert ask(history)[0].counts == ((18, 18), (0, 6))
    add(history, 8, BAD + "f")
    assert ask(history)[0].counts == ((18, 18), (0, 7))
    add(history, 9, BAD)
    assert ask(history)[0].counts == ((18, 18), (0, 10))


def test_quick_results_are_not_stored(history: SqlHistory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small project's history stays as it is when it is read."""
    monkeypatch.setattr(module, "_WORTH_KEEPING", 1e9)
    assert len(ask(history)) == 1
    assert history.query("SELECT * FROM derived") == []


def test_a_fall_is_told_until_the_rate_has_recovered_or_it_is_accepted(history: SqlHistory) -> None:
    """However long ago it was; a later fall is not accepted with it."""
    for number in range(9, 20):
        add(history, number, BAD)
    assert [(one.fell, one.first_after.name) for one in ask(history)] == [(True, "night-07")]
    for name in ("saves", "saves/a:m"):
        assert ask(history, accepted={name: "2026-01-07"}) == ()
        assert len(ask(history, accepted={name: "2026-01-06"})) == 1
    for number in range(20, 25):
        add(history, number, GOOD)
    assert [one.fell for one in ask(history)] == [False]


@pytest.mark.parametrize(
    ("run", "number", "expected"),
    [("night-08", 2, [6, 7]), ("night-03", 2, [1, 2]), ("night-03", 7, [1, 2]), ("night-06", 9, [1, 2, 3, 4, 5])],
)
def test_the_nights_before_an_old_run_are_found_too(
    history: SqlHistory, run: str, number: int, expected: list[int]
) -> None:
    """However many nights there are after it."""
    *found, _ = nights_until(history, history.run(run), number)
    assert [night.name for night in found] == [f"night-{one:02}" for one in expected]


def test_changes_of_many_cells_are_ready_once_they_are_kept(
    history: SqlHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page waits for few; until many are kept, it shows what it has. A night keeps them when it ends."""
    tonight = nights_until(history, history.run(), 0)[-1]
    assert shifts_are_ready(history, tonight)
    monkeypatch.setattr(module, "_MANY_CELLS", 7)
    assert not shifts_are_ready(history, tonight)
    ask(history)
    assert shifts_are_ready(history, tonight)
