"""Export a run of the history for other tools."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demeanor.core.entry_points import installed
from demeanor.core.installation import install_extra
from demeanor.core.text.wording import one_line, slug
from demeanor.core.trees.file_set import new_folder, unwritable, write_files
from demeanor.core.values.errors import BadInput, UnknownName
from demeanor.core.values.exchange import Exchange
from demeanor.core.values.history import PastRun, RunCell
from demeanor.core.values.ports import History
from demeanor.core.values.record import Record
from demeanor.core.values.trajectory import Event
from demeanor.core.values.trial import Cell, Plan, named_cell
from demeanor.reports.run import RunReport, make_report
from demeanor.results import find_past_run, load_capture, read_steps
from demeanor.runner import RunResult
from demeanor.store.captures import CaptureStore
from demeanor.store.runs import RunPlace, place_of


def report_of_past_run(history: History, name: str = "latest") -> RunReport:
    """Return the report of a run in the history; values that only the eval files contain are empty."""
    run = history.run(name)
    plan = Plan(cells=tuple(_cell(cell) for cell in history.cells(run.name)))
    records = history.records(run.name)
    return make_report(RunResult(plan=plan, info=run.info, folder=run.path, records=records))


def _cell(cell: RunCell) -> Cell:
    """Rebuild a cell of the plan from the history."""
    return named_cell(
        cell.eval,
        cell.subject,
        policy=cell.policy,
        trials=cell.planned,
        skipped=cell.skip_reason,
        layer=cell.layer,
    )


def export(
    history: History,
    name: str,
    form: str,
    out: Path | None,
    *,
    results: Path,
    captures: CaptureStore | None = None,
    spans: SpanOptions | None = None,
) -> tuple[str | None, int]:
    """Write a run for other tools; return the text, if there is no file to write, and the number of attempts."""
    check_format(form)
    run = find_past_run(history, name, results=results)
    records = history.records(run.name)
    if form == "parquet":
        from demeanor.store.exports import write_parquet

        path = _require_out(out, form)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_parquet(run, records, path)
        except OSError as error:
            raise unwritable(path, error) from None
        return None, len(records)
    if form == "atif":
        return None, _write_trajectories(place_of(run, results), records, _require_out(out, form), captures)
    if form == "otlp":
        text = _spans(run, place_of(run, results), records, captures, spans or SpanOptions())
        if text is None:
            return None, len(records)
    else:
        text = _text(history, run, records, form)
    if out is not None:
        write_files({out: text})
    return (text if out is None else None), len(records)


@dataclass(frozen=True, kw_only=True, slots=True)
class SpanOptions:
    """How spans are exported."""

    endpoint: str | None = None
    """The URL of a collector to send them to; None to return them as text."""

    content: bool = False
    """Whether to include arguments and results of tools."""


def _spans(
    run: PastRun, place: RunPlace, records: tuple[Record, ...], captures: CaptureStore | None, options: SpanOptions
) -> str | None:
    """Send the spans of a run to a collector, or return them as text."""
    try:
        from demeanor.store.exports import SpanExport, as_lines, send_spans
    except ImportError as error:
        raise BadInput(f"needs a package: {error}", where="--format otlp", remedy=install_extra("otlp")) from None
    spans = SpanExport(run.info, content=options.content)
    for record in records:
        spans.add(record, *_events_and_exchanges(place, record, captures))
    if options.endpoint is None:
        return as_lines(spans.finished())
    send_spans(spans.finished(), options.endpoint)
    return None


def _text(history: History, run: PastRun, records: tuple[Record, ...], form: str) -> str:
    if form == "csv":
        from demeanor.store.exports import as_csv

        return as_csv(run, records)
    report = report_of_past_run(history, run.name)
    if form == "junit":
        from demeanor.reports.run import junit_report

        return junit_report(report)
    from demeanor.reports.run import json_report

    return json_report(report) if form == "json" else render(form, json_report(report))


def _require_out(out: Path | None, form: str) -> Path:
    if out is None:
        raise BadInput("missing", where="--output", remedy=f"name a file or folder: --format {form} --output PATH")
    return out


def _write_trajectories(
    place: RunPlace, records: tuple[Record, ...], folder: Path, captures: CaptureStore | None
) -> int:
    """Write one file per attempt; raise StoreError at the first one that can't be reached. A new folder appears only
    when it is complete."""
    if not folder.exists():
        with new_folder(folder) as fresh:
            return _write_into(fresh, place, records, captures)
    return _write_into(folder, place, records, captures)


def _write_into(folder: Path, place: RunPlace, records: tuple[Record, ...], captures: CaptureStore | None) -> int:
    from demeanor.store.exports import trajectory

    for record in records:
        events, exchanges = _events_and_exchanges(place, record, captures)
        own = folder / slug(record.eval) / slug(record.subject)
        again = f".{record.attempt}" if record.attempt > 1 else ""
        text = json.dumps(trajectory(record, events, exchanges), indent=2)
        write_files({own / f"trial-{record.number}{again}.json": text + "\n"})
    return len(records)


def _events_and_exchanges(
    place: RunPlace, record: Record, captures: CaptureStore | None
) -> tuple[tuple[Event, ...], tuple[Exchange, ...]]:
    if place.folder is not None and place.folder.packed_capture(record) is None:
        return place.folder.events(record), ()
    return read_steps(place, record, captures), load_capture(place, record, captures).exchanges


# Output formats of other packages, found by the entry point `demeanor.reporters`: functions from a report to text.

ENTRY_POINT = "demeanor.reporters"
FORMATS = ("json", "csv", "parquet", "junit", "atif", "otlp")
"""The formats of Demeanor itself."""


def check_format(name: str) -> None:
    """Raise UnknownName if there is neither a format nor a reporter of this name."""
    others = {point.name for point in installed(ENTRY_POINT)}
    if name not in FORMATS and name not in others:
        raise UnknownName("format", name, (*FORMATS, *sorted(others)))


def render(name: str, report: str) -> str:
    """The text that a reporter makes of a report (a JSON document); raises BadInput if it fails."""
    point = next(point for point in installed(ENTRY_POINT) if point.name == name)
    try:
        reporter: Callable[[Any], Any] = point.load()
        text = reporter(json.loads(report))
    except Exception as error:
        problem = one_line(f"{type(error).__name__}: {error}", width=300)
        raise BadInput(f"the reporter failed: {problem}", where=f"--format {name}", key=point.value) from error
    if not isinstance(text, str):
        raise BadInput(
            f"the reporter returned {type(text).__name__}, not text", where=f"--format {name}", key=point.value
        )
    return text
