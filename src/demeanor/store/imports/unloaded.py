"""Test files that could not be loaded, or whose set-up failed.

The report of the former has no tests, and of the latter only skipped ones; earlier runs tell which tests they had.
"""

from __future__ import annotations

from dataclasses import replace

from demeanor.core.text.wording import count, one_line
from demeanor.core.values.ports import History
from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Void, VoidCause
from demeanor.store.history.run_writer import WrittenRecord
from demeanor.store.imports.common import Imported, UnloadedFile, cells_of

_RUNS = 50
"""An earlier run of the same subject is looked for among this many."""


def void_unloaded(imported: Imported, history: History) -> Imported:
    """The run with a void for each test that is missing because its file could not be loaded.

    These are the tests that the file has in other reports of the run, and those of the last earlier run of the subject
    that the report lacks: a report without a file can't tell whether a test was removed.
    """
    records, notes = list(imported.records), list(imported.notes)
    for file in imported.unloaded:
        tried = {record.record.eval for record in records if _is_of(record.record, file)}
        names = dict.fromkeys((*file.tests, *_earlier_tests(imported, file.subject, history)))
        skipped = {cell.eval for cell in imported.cells if cell.subject == file.subject and cell.skipped}
        missing = [name for name in names if name not in tried and name not in skipped]
        what = "could not be loaded"
        if file.skipped:  # a test that earlier runs skipped too is skipped on purpose
            missing, what = [name for name in file.skipped if name in names], "failed in its set-up"
        where = f"{one_line(file.path)} {what} ({file.subject}, trial {file.number})"
        detail = f"the test file {file.path} {what}: {file.reason}"
        records += [WrittenRecord(record=_void(name, file, detail)) for name in missing]
        voids = f"{count(len(missing), 'test')} of earlier runs void" if missing else "no earlier run tells its tests"
        notes.append(f"{where}, {voids}: {one_line(file.reason)}")
    policies = {(cell.eval, cell.subject): cell.policy for cell in imported.cells}
    cells = tuple(
        replace(cell, policy=policies.get((cell.eval, cell.subject), cell.policy))
        for cell in cells_of(records, [cell for cell in imported.cells if cell.skipped])
    )
    return replace(imported, records=tuple(records), cells=cells, notes=tuple(notes))


def _is_of(record: Record, file: UnloadedFile) -> bool:
    return (record.subject, record.number) == (file.subject, file.number)


def _void(name: str, file: UnloadedFile, detail: str) -> Record:
    verdict = Void(cause=VoidCause.CHECK, detail=detail)
    return Record(eval=name, subject=file.subject, number=file.number, attempt=1, verdict=verdict)


def _earlier_tests(imported: Imported, subject: str, history: History) -> tuple[str, ...]:
    """The tests of the last earlier run of the subject."""
    for run in history.runs(limit=_RUNS):
        if run.origin != imported.origin or run.info.started >= imported.run.started:
            continue
        names = tuple(cell.eval for cell in history.cells(run.name) if cell.subject == subject and not cell.skipped)
        if names:
            return names
    return ()
