from __future__ import annotations

from collections.abc import Callable

import pytest

from demeanor.commands.run.progress_state import ProgressState
from demeanor.core.progress import AttemptJudged, AttemptStarted
from demeanor.core.record import Record
from demeanor.core.trial import Cell, Plan
from demeanor.core.verdict import Pass, Void, VoidCause

VOID = Void(cause=VoidCause.PROVIDER, detail="500")
MakeCell = Callable[..., Cell]
MakeRecord = Callable[..., Record]


def started(cell: Cell, number: int, attempt: int = 1) -> AttemptStarted:
    return AttemptStarted(eval=cell.eval.name, subject=str(cell.subject), number=number, attempt=attempt)


def test_a_trial_is_missing_then_running_then_judged(cell: MakeCell, record: MakeRecord) -> None:
    """One sign per trial, from the first moment on."""
    made = cell("e", trials=2)
    standing = ProgressState(Plan(cells=(made,)), now=0)
    row = standing.rows[made.id]
    assert row.trials == {1: "missing", 2: "missing"}
    standing.update(started(made, 1))
    assert row.trials == {1: "running", 2: "missing"}
    standing.update(AttemptJudged(record=record(made, 1, Pass())))
    assert (row.trials, row.done) == ({1: "pass", 2: "missing"}, False)


def test_a_void_that_is_tried_again_is_not_the_end(cell: MakeCell, record: MakeRecord) -> None:
    """But it is paid for."""
    made = cell("e", trials=1)
    standing = ProgressState(Plan(cells=(made,)), now=0)
    standing.update(AttemptJudged(record=record(made, 1, VOID, final=False)))
    assert (standing.ended, len(standing.spent)) == (0, 1)
    standing.update(started(made, 1, attempt=2))
    standing.update(AttemptJudged(record=record(made, 1, Pass(), attempt=2)))
    assert (standing.ended, +standing.counts) == (1, {"pass": 1})


def test_the_rest_takes_as_long_as_the_part_before(cell: MakeCell, record: MakeRecord) -> None:
    """Nothing is guessed from a single trial, nor when nothing is left."""
    made = cell("e", trials=4)
    standing = ProgressState(Plan(cells=(made,)), now=100)
    guesses = []
    for number in (1, 2, 3, 4):
        standing.update(AttemptJudged(record=record(made, number, Pass())))
        guesses.append(standing.eta(now=100 + 10 * number))
    assert guesses == [None, 20, 10, None]


def test_what_an_earlier_part_did_is_counted_but_says_nothing_of_the_speed(cell: MakeCell, record: MakeRecord) -> None:
    """A resumed run guesses from its own trials."""
    made = cell("e", trials=5)
    kept = [record(made, 1, Pass()), record(made, 2, Pass())]
    standing = ProgressState(Plan(cells=(made,)), now=0, kept=kept)
    assert (standing.ended, standing.eta(now=10)) == (2, None)
    for number in (3, 4):
        standing.update(AttemptJudged(record=record(made, number, Pass())))
    assert standing.eta(now=10) == pytest.approx(5)


def test_a_trial_that_is_asked_for_later_is_added_and_an_unknown_cell_is_not(
    cell: MakeCell, record: MakeRecord
) -> None:
    """A gate plans as it goes."""
    standing = ProgressState(Plan(cells=(cell("e", trials=1),)), now=0)
    standing.update(started(cell("other"), 1))
    standing.update(started(cell("e"), 2))
    assert [row.trials for row in standing.rows.values()] == [{1: "missing", 2: "running"}]
    assert (standing.planned, +standing.counts) == (2, {"missing": 1, "running": 1})
