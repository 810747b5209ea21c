"""Copies a run from its folder to the history: the ledger is authoritative, the history follows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record
from demeanor.store.captures.document import read_exchanges, unpack
from demeanor.store.history.database import Database
from demeanor.store.history.rows import uid_of, usage
from demeanor.store.history.run_writer import PlannedCell, RunWriter, WrittenRecord
from demeanor.store.runs.run_dirs import address_of
from demeanor.store.runs.run_folder import RunFolder

PENDING = "history-pending"
"""A file in the folder of a run that could not be written to the history, until it was."""


def sync_run(database: Database, run: RunFolder) -> int:
    """Write what is missing in the history; returns the number of new attempts."""
    info = run.info()
    if _stored_attempts(database, uid_of(info)) == run.count() > 0:
        return 0
    records = run.records()
    writer = RunWriter(database, info, source=address_of(run.folder))
    return writer.write(planned_cells_of(run), written_records(run, records))


def sync_pending(database: Database, results: Path) -> tuple[str, ...]:
    """Write the pending runs of a results folder to the history; returns the names of those that were missing."""
    written = []
    for marker in sorted(results.glob(f"*/{PENDING}")):
        if sync_run(database, RunFolder(marker.parent)):
            written.append(marker.parent.name)
        marker.unlink(missing_ok=True)
    return tuple(written)


def written_records(run: RunFolder, records: Iterable[Record]) -> tuple[WrittenRecord, ...]:
    """The attempts of a run, with the token usage of their exchanges."""
    return tuple(WrittenRecord(record=record, usages=_usages(run, record)) for record in records)


def planned_cells_of(run: RunFolder) -> Iterator[PlannedCell]:
    """The plan in run.json."""
    for cell in run.cells():
        yield PlannedCell(
            eval=str(cell["eval"]),
            subject=str(cell["subject"]),
            policy=Policy(cell["policy"]),
            planned=int(cell["trials"]),
            skipped=cell["skipped"],
            layer=int(cell["layer"]),
        )


def _stored_attempts(database: Database, uid: str) -> int:
    """The number of attempts of a run in the history."""
    ((number,),) = database.rows(
        "SELECT COALESCE(SUM(t.attempts), 0) FROM runs r JOIN cells c ON c.run_id = r.id"
        " JOIN tallies t ON t.cell_id = c.id WHERE r.uid = ?",
        (uid,),
    )
    return int(number)


def _usages(run: RunFolder, record: Record) -> tuple[tuple[object, ...], ...]:
    packed = run.packed_capture(record)
    if packed is None:
        return ()
    where = f"{run.folder}: {record.trial}"
    return tuple(
        usage(exchange) for exchange in read_exchanges(unpack(packed, record.capture_hash, where=where), where=where)
    )
