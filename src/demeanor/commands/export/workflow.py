"""Export a run of the history for other tools."""

from __future__ import annotations

import json
from pathlib import Path

from demeanor.commands.run.report import RunReport
from demeanor.commands.run.workflow import make_report
from demeanor.core.atomic_file import write_atomically
from demeanor.core.errors import BadInput, StoreError
from demeanor.core.exchange import Exchange
from demeanor.core.history import PastRun, RunCell
from demeanor.core.ports import History
from demeanor.core.record import Record
from demeanor.core.text import slug
from demeanor.core.trajectory import Event
from demeanor.core.trial import Cell, Plan, named_cell
from demeanor.runner.execute import RunResult
from demeanor.store.runs.run_folder import RUN_FILE, RunFolder


def report_of_past_run(history: History, name: str = "latest") -> RunReport:
    """Return the report of a run in the history; values that only the eval files contain are empty."""
    run = history.run(name)
    plan = Plan(cells=tuple(_cell(one) for one in history.cells(run.name)))
    records = history.records(run.name)
    return make_report(RunResult(plan=plan, info=run.info, folder=Path(run.source), records=records))


def _cell(found: RunCell) -> Cell:
    """Rebuild a cell of the plan from the history."""
    skipped = found.skip_reason
    return named_cell(found.eval, found.subject, policy=found.policy, trials=found.planned, skipped=skipped)


def export(history: History, name: str, form: str, out: Path | None) -> tuple[str | None, int]:
    """Write a run for other tools; return the text, if there is no file to write, and the number of attempts."""
    run = history.run(name)
    records = history.records(run.name)
    if form == "parquet":
        from demeanor.store.exports.table import write_parquet

        write_parquet(run, records, _require_out(out, form))
        return None, len(records)
    if form == "atif":
        return None, _write_trajectories(run, records, _require_out(out, form))
    text = _text(history, run, records, form)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(out, text)
    return (text if out is None else None), len(records)


def _text(history: History, run: PastRun, records: tuple[Record, ...], form: str) -> str:
    if form == "csv":
        from demeanor.store.exports.table import as_csv

        return as_csv(run, records)
    report = report_of_past_run(history, run.name)
    if form == "junit":
        from demeanor.commands.run.junit import junit

        return junit(report)
    from demeanor.commands.run.to_json import json_report

    return json_report(report)


def _require_out(out: Path | None, form: str) -> Path:
    if out is None:
        raise BadInput("missing", where="--out", remedy=f"name a file or folder: --format {form} --out PATH")
    out.parent.mkdir(parents=True, exist_ok=True)
    return out


def _write_trajectories(run: PastRun, records: tuple[Record, ...], folder: Path) -> int:
    """Write one file per attempt, from the run's folder, which must be on this machine."""
    from demeanor.store.exports.atif import trajectory

    folder_of_run = RunFolder(Path(run.source))
    if not (folder_of_run.folder / RUN_FILE).is_file():
        raise StoreError(
            f"{run.source or run.name}: the run's folder, which has the trajectories, is not on this machine\n"
            "  → export them on the machine that ran it"
        )
    for record in records:
        events, exchanges = _events_and_exchanges(folder_of_run, record)
        place = folder / slug(record.eval) / slug(record.subject)
        place.mkdir(parents=True, exist_ok=True)
        again = f".{record.attempt}" if record.attempt > 1 else ""
        text = json.dumps(trajectory(record, events, exchanges), indent=2)
        write_atomically(place / f"trial-{record.number}{again}.json", text + "\n")
    return len(records)


def _events_and_exchanges(run: RunFolder, record: Record) -> tuple[tuple[Event, ...], tuple[Exchange, ...]]:
    from demeanor.store.captures.capture_json import read_exchanges, unpack

    packed = run.packed_capture(record)
    if packed is None:
        return run.events(record), ()
    where = f"{run.folder}: {record.trial}"
    return run.events(record), read_exchanges(unpack(packed, record.capture_hash, where=where), where=where)
