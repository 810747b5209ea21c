"""A run of the history, written for other tools."""

from __future__ import annotations

import json
from pathlib import Path

from demeanor.commands.run.outputs import make_report
from demeanor.commands.run.report import RunReport
from demeanor.core.errors import BadInput, StoreError
from demeanor.core.exchange import Exchange
from demeanor.core.history import PastRun, RunCell
from demeanor.core.ports import History
from demeanor.core.record import Record
from demeanor.core.text import slug
from demeanor.core.trajectory import Event
from demeanor.core.trial import Cell, Plan, named_cell
from demeanor.runner.execute import RunResult
from demeanor.store.runs.run_folder import RUN_FILE, RunFolder, write_whole


def report_of_past_run(history: History, name: str = "latest") -> RunReport:
    """The report of a run that is in the history; what only the evals' files could tell is left empty."""
    run = history.run(name)
    plan = Plan(cells=tuple(_cell(one) for one in history.cells(run.name)))
    records = history.records(run.name)
    return make_report(RunResult(plan=plan, info=run.info, folder=Path(run.source), records=records))


def _cell(found: RunCell) -> Cell:
    """A cell of a plan that nobody has any more."""
    skipped = found.skip_reason
    return named_cell(found.eval, found.subject, policy=found.policy, trials=found.planned, skipped=skipped)


def export(history: History, name: str, form: str, out: Path | None) -> tuple[str | None, int]:
    """Write a run for other tools: the text, where it goes to no file, and how many attempts it holds."""
    run = history.run(name)
    records = history.records(run.name)
    if form == "parquet":
        from demeanor.store.exports.table import write_parquet

        write_parquet(run, records, _needed(out, form))
        return None, len(records)
    if form == "atif":
        return None, _write_trajectories(run, records, _needed(out, form))
    text = _text(history, run, records, form)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(out, text)
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


def _needed(out: Path | None, form: str) -> Path:
    if out is None:
        raise BadInput("is needed", where="--out", remedy=f"say where to write: --format {form} --out PATH")
    out.parent.mkdir(parents=True, exist_ok=True)
    return out


def _write_trajectories(run: PastRun, records: tuple[Record, ...], folder: Path) -> int:
    """One file per attempt; they are made from the run's folder, which must be here."""
    from demeanor.store.exports.atif import trajectory

    kept = RunFolder(Path(run.source))
    if not (kept.folder / RUN_FILE).is_file():
        raise StoreError(
            f"{run.source or run.name}: the run's folder is not here, and only it holds trajectories\n"
            "  → export them on the machine that ran it"
        )
    for record in records:
        events, exchanges = _seen(kept, record)
        place = folder / slug(record.eval) / slug(record.subject)
        place.mkdir(parents=True, exist_ok=True)
        again = f".{record.attempt}" if record.attempt > 1 else ""
        text = json.dumps(trajectory(record, events, exchanges), indent=2)
        write_whole(place / f"trial-{record.number}{again}.json", text + "\n")
    return len(records)


def _seen(kept: RunFolder, record: Record) -> tuple[tuple[Event, ...], tuple[Exchange, ...]]:
    from demeanor.store.captures.capture_json import read_exchanges, unpack

    packed = kept.packed_capture(record)
    if packed is None:
        return kept.events(record), ()
    where = f"{kept.folder}: {record.trial}"
    return kept.events(record), read_exchanges(unpack(packed, record.capture_hash, where=where), where=where)
