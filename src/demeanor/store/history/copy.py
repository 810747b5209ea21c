"""Copies a whole history to another database: from SQLite to PostgreSQL, or the other way round."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from demeanor.core.redaction.redactor import Redactor
from demeanor.core.values.history import PastRun
from demeanor.store.history import rows
from demeanor.store.history.database import Row
from demeanor.store.history.notes import add_note, read_notes
from demeanor.store.history.run_writer import PlannedCell, RunWriter, WrittenRecord
from demeanor.store.history.sql_history import SqlHistory


@dataclass(frozen=True, kw_only=True, slots=True)
class CopiedRun:
    """A run that was copied."""

    run: PastRun
    """The run."""

    attempts: int
    """The number of its attempts."""

    new: int
    """The number of attempts that the other history did not have."""


def copy_runs(source: SqlHistory, target: SqlHistory) -> Iterator[CopiedRun]:
    """Copy all runs, the oldest first, each in one transaction; what the target has already is not changed."""
    for run in reversed(source.runs()):
        cells = [
            PlannedCell(
                eval=cell.eval,
                subject=cell.subject,
                policy=cell.policy,
                planned=cell.planned,
                skipped=cell.skip_reason,
                layer=cell.layer,
            )
            for cell in source.cells(run.name)
        ]
        records = _written_records(source, run)
        new = RunWriter(target.database, run.info, origin=run.origin, source=run.source).write(cells, records)
        yield CopiedRun(run=run, attempts=len(records), new=new)


def copy_decisions(source: SqlHistory, target: SqlHistory) -> int:
    """Copy all decisions; returns their number."""
    decisions = source.decisions()
    for decision in reversed(decisions):
        target.add_decision(decision)
    return len(decisions)


def copy_notes(source: SqlHistory, target: SqlHistory) -> int:
    """Copy all notes about runs that the target has; returns their number."""
    notes = read_notes(source)
    for note in reversed(notes):
        add_note(target, replace(note, run=source.run(note.run).info.uid), Redactor())
    return len(notes)


def _written_records(source: SqlHistory, run: PastRun) -> list[WrittenRecord]:
    """The attempts of a run, with the token usage of their exchanges."""
    uid = run.info.uid
    numbers = {
        (name, subject): number
        for number, name, subject in source.database.rows(
            "SELECT c.id, c.eval, c.subject FROM cells c JOIN runs r ON r.id = c.run_id WHERE r.uid = ?", (uid,)
        )
    }
    usages: dict[Row, list[Row]] = {}
    for row in source.database.rows(
        "SELECT u.* FROM usages u JOIN cells c ON c.id = u.cell_id JOIN runs r ON r.id = c.run_id"
        " WHERE r.uid = ? ORDER BY u.exchange",
        (uid,),
    ):
        usages.setdefault(tuple(row[:3]), []).append(tuple(row[3:]))
    return [
        WrittenRecord(
            record=record,
            usages=tuple(usages.get(rows.attempt_row(record, numbers[record.eval, record.subject], uid)[:3], ())),
        )
        for record in source.records(run.name)
    ]
