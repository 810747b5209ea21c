from __future__ import annotations

import io
import re
from collections.abc import Callable

import pytest

from demeanor.cli.live import ProgressState, frame, show_progress
from demeanor.core.values.progress import AttemptJudged, AttemptStarted, Progress, WorkersChanged
from demeanor.core.values.record import Record
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Cell, Plan
from demeanor.core.values.verdict import Fail, Finding, Pass, Void, VoidCause
from demeanor.render.terminal import Screen
from demeanor.reports.run.report import RunReport

NO = Fail(findings=(Finding(check="c", answer="no", reason="no file\nat all"),))
VOID = Void(cause=VoidCause.RATE_LIMIT, detail="429")
PROVIDER_VOID = Void(cause=VoidCause.PROVIDER, detail="500")
MakeCell = Callable[..., Cell]
MakeRecord = Callable[..., Record]


@pytest.fixture
def news(cell: MakeCell, record: MakeRecord) -> tuple[Plan, list[Progress]]:
    """Two evals: one passes and fails, the other is voided once and then passes."""
    saves, asks = cell("saves_the_note", trials=2), cell("asks_first", trials=1)
    events: list[Progress] = []
    for made, number, attempt, verdict in [(saves, 1, 1, Pass()), (asks, 1, 1, VOID), (saves, 2, 1, NO)]:
        events.append(AttemptStarted(eval=made.eval.name, subject=str(made.subject), number=number, attempt=attempt))
        events.append(AttemptJudged(record=record(made, number, verdict, final=verdict is not VOID)))
    events.append(AttemptJudged(record=record(asks, 1, Pass(), attempt=2)))
    return Plan(cells=(saves, asks)), events


def lines(state: ProgressState, screen: Screen, *, height: int = 24, now: float = 0.0) -> list[str]:
    return [line.plain.rstrip() for line in frame(state, screen, height=height, now=now)]


def test_without_a_terminal_every_finished_attempt_is_a_line(news: tuple[Plan, list[Progress]]) -> None:
    """Plain lines, as they belong in a CI log."""
    stream = io.StringIO()
    with show_progress(news[0], stream, screen=Screen(width=100), clock=lambda: 0.0) as show:
        for one in news[1]:
            show(one)
    assert stream.getvalue().splitlines() == [
        "[1/3] PASS  saves_the_note · native:scripted · trial 1  4.2 s  $0.0041",
        "[1/3] AGAIN asks_first · native:scripted · trial 1  4.2 s  $0.0041  void(rate_limit): 429",
        "[2/3] FAIL  saves_the_note · native:scripted · trial 2  5.2 s  $0.0041  no file at all",
        "[3/3] PASS  asks_first · native:scripted · trial 1  4.5 s  $0.0041",
    ]


def test_a_terminal_shows_a_row_per_eval_with_a_dot_per_trial(news: tuple[Plan, list[Progress]]) -> None:
    """And below them what is done, how long it takes and what it costs."""
    state = ProgressState(news[0], now=0)
    for one in news[1][:4]:
        state.update(one)
    assert lines(state, Screen(), now=12) == [
        "saves_the_note  ✓·",
        "asks_first      ·",
        "1/3 trials · 12 s · $0.0082",
    ]
    state.update(news[1][4])
    state.update(news[1][5])
    assert lines(state, Screen(), now=30) == [
        "saves_the_note  ✓✗",
        "asks_first      ·",
        "2/3 trials · 1 failed · 30 s · about 15 s left · $0.012",
    ]


def test_each_subject_has_its_own_row(cell: MakeCell) -> None:
    """One row per eval and subject."""
    other = Subject(agent="acme", model="large")
    state = ProgressState(Plan(cells=(cell("e", trials=1), cell("e", trials=1, subject=other))), now=0)
    assert lines(state, Screen())[:2] == ["e  ·  native:scripted", "e  ·  acme:large"]


def test_running_trials_are_shown_first_if_not_all_rows_fit(cell: MakeCell, record: MakeRecord) -> None:
    """The frame is never higher than the terminal."""
    cells = [cell(f"e{number:02}", trials=1) for number in range(30)]
    state = ProgressState(Plan(cells=tuple(cells)), now=0)
    for made in cells[:20]:
        state.update(AttemptJudged(record=record(made, 1, Pass())))
    state.update(AttemptStarted(eval="e29", subject="native:scripted", number=1, attempt=1))
    shown = lines(state, Screen(), height=10)
    assert len(shown) <= 8
    assert "e29  ◐" in shown
    assert "… and 25 more" in shown


@pytest.mark.parametrize("width", [40, 60, 140])
def test_no_line_is_wider_than_the_terminal(cell: MakeCell, width: int) -> None:
    """A line that wraps would spoil the drawing."""
    long = Subject(agent="a" * 50, model="m" * 50)
    state = ProgressState(Plan(cells=(cell("e" * 200), cell("f" * 200, subject=long))), now=0)
    assert max(map(len, lines(state, Screen(width=width), now=1e6))) <= width


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    encoding = "utf-8"  # type: ignore[assignment]

    def isatty(self) -> bool:
        return True


def test_a_terminal_is_left_clean_for_the_report(
    news: tuple[Plan, list[Progress]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cursor is back, also when the run breaks off."""
    monkeypatch.setenv("TERM", "xterm")  # a dumb terminal has no cursor to hide
    stream = Terminal()

    def broken_off() -> None:
        with show_progress(news[0], stream, screen=Screen(live=True, color=True)) as show:
            for one in news[1]:
                show(one)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    text = stream.getvalue()
    assert "asks_first" in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    assert text.endswith("\x1b[2K")


def test_hostile_text_can_do_nothing_to_a_terminal(hostile: tuple[str, RunReport]) -> None:
    """Every finished trial stays on one line."""
    records = [record for cell in hostile[1].cells for record in cell.records]
    stream = io.StringIO()
    with show_progress(Plan(cells=()), stream, screen=Screen(width=100)) as show:
        for record in records:
            show(AttemptJudged(record=record))
    text = stream.getvalue()
    assert len(text.splitlines()) == len(records)
    assert len(text) < 2000
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\ud800-\udfff]", text)


def started(cell: Cell, number: int, attempt: int = 1) -> AttemptStarted:
    return AttemptStarted(eval=cell.eval.name, subject=str(cell.subject), number=number, attempt=attempt)


def test_a_trial_is_missing_then_running_then_judged(cell: MakeCell, record: MakeRecord) -> None:
    """One sign per trial, from the first moment on."""
    made = cell("e", trials=2)
    state = ProgressState(Plan(cells=(made,)), now=0)
    row = state.rows[made.id]
    assert row.trials == {1: "missing", 2: "missing"}
    state.update(started(made, 1))
    assert row.trials == {1: "running", 2: "missing"}
    state.update(AttemptJudged(record=record(made, 1, Pass())))
    assert (row.trials, row.done) == ({1: "pass", 2: "missing"}, False)


def test_a_void_that_is_retried_does_not_end_its_trial(cell: MakeCell, record: MakeRecord) -> None:
    """Its cost counts."""
    made = cell("e", trials=1)
    state = ProgressState(Plan(cells=(made,)), now=0)
    state.update(AttemptJudged(record=record(made, 1, PROVIDER_VOID, final=False)))
    assert (state.ended, state.spent.value.spent.cost_usd) == (0, 0.0041)
    state.update(started(made, 1, attempt=2))
    state.update(AttemptJudged(record=record(made, 1, Pass(), attempt=2)))
    assert (state.ended, +state.counts) == (1, {"pass": 1})


def test_the_time_left_is_estimated_from_the_ended_trials(cell: MakeCell, record: MakeRecord) -> None:
    """There is no estimate from a single trial, nor when nothing is left."""
    made = cell("e", trials=4)
    state = ProgressState(Plan(cells=(made,)), now=100)
    guesses = []
    for number in (1, 2, 3, 4):
        state.update(AttemptJudged(record=record(made, number, Pass())))
        guesses.append(state.eta(now=100 + 10 * number))
    assert guesses == [None, 20, 10, None]


def test_trials_of_an_earlier_part_count_but_not_for_the_estimate(cell: MakeCell, record: MakeRecord) -> None:
    """A resumed run is estimated from its own trials."""
    made = cell("e", trials=5)
    kept = [record(made, 1, Pass()), record(made, 2, Pass())]
    state = ProgressState(Plan(cells=(made,)), now=0, kept=kept)
    assert (state.ended, state.eta(now=10)) == (2, None)
    for number in (3, 4):
        state.update(AttemptJudged(record=record(made, number, Pass())))
    assert state.eta(now=10) == pytest.approx(5)


def test_a_trial_that_is_planned_later_is_added_and_an_unknown_cell_is_not(cell: MakeCell, record: MakeRecord) -> None:
    """A gate plans as it goes."""
    state = ProgressState(Plan(cells=(cell("e", trials=1),)), now=0)
    state.update(started(cell("other"), 1))
    state.update(started(cell("e"), 2))
    assert [row.trials for row in state.rows.values()] == [{1: "missing", 2: "running"}]
    assert (state.planned, +state.counts) == (2, {"missing": 1, "running": 1})


def test_workers_of_a_cluster_are_shown_when_they_change(news: tuple[Plan, list[Progress]]) -> None:
    """One line per change where nothing is redrawn; in the totals of a live table."""
    stream = io.StringIO()
    events = [WorkersChanged(workers=2, slots=4)] * 2 + [WorkersChanged(workers=1, slots=2)]
    with show_progress(news[0], stream, screen=Screen(width=100), clock=lambda: 0.0) as show:
        for event in events:
            show(event)
    assert stream.getvalue() == "2 workers, 4 slots\n1 worker, 2 slots\n"
    state = ProgressState(news[0], now=0)
    assert "worker" not in lines(state, Screen(width=100))[-1]
    state.update(events[-1])
    assert "1 worker, 2 slots" in lines(state, Screen(width=100))[-1]
