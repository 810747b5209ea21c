"""What a run's folder holds, into the history: the ledger is the truth, and the history follows it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from demeanor.core.policy import Policy
from demeanor.core.record import Record
from demeanor.store.captures.capture_json import read_exchanges, unpack
from demeanor.store.history.database import Database
from demeanor.store.history.rows import uid_of, usage
from demeanor.store.history.writing import PlannedCell, RunWriter, WrittenRecord
from demeanor.store.runs.run_folder import RunFolder


def catch_up(database: Database, run: RunFolder) -> int:
    """Write what the history lacks of a run; how many attempts that were."""
    info = run.info()
    if _there(database, uid_of(info)) == run.count() > 0:
        return 0
    records = run.records()
    writer = RunWriter(database, info, source=str(run.folder))
    return writer.write(noted_cells(run, records), kept_of(run, records))


def kept_of(run: RunFolder, records: Iterable[Record]) -> tuple[WrittenRecord, ...]:
    """The attempts of a folder, with what their exchanges used."""
    return tuple(WrittenRecord(record=one, usages=_usages(run, one)) for one in records)


def noted_cells(run: RunFolder, records: Iterable[Record]) -> Iterator[PlannedCell]:
    """The plan as the folder has it; a run of an older version did not note policies, but its records did."""
    policies = {record.cell: record.policy for record in records}
    for cell in run.cells():
        name, subject = str(cell["eval"]), str(cell["subject"])
        policy = cell.get("policy") or policies.get(f"{name}/{subject}", Policy.USUALLY_PASSES)
        yield PlannedCell(
            eval=name, subject=subject, policy=Policy(policy), planned=int(cell["trials"]), skipped=cell.get("skipped")
        )


def _there(database: Database, uid: str) -> int:
    """How many attempts of a run the history has."""
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
    return tuple(usage(one) for one in read_exchanges(unpack(packed, record.capture_hash, where=where), where=where))
