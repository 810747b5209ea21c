"""Imports a report.json of Demeanor, for example from another machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from demeanor.core.text.codec import DecodeError, decode
from demeanor.core.values.errors import BadInput
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record, RunInfo
from demeanor.store.history.run_writer import PlannedCell, WrittenRecord
from demeanor.store.imports.common import Imported, ImportOptions, as_integer, expect, read_json

ORIGIN = "demeanor"
SCHEMA = "demeanor-report/1"


def matches(data: Any) -> bool:
    """Whether a JSON document is a report, of any version."""
    return isinstance(data, dict) and str(data.get("schema", "")).startswith("demeanor-report/")


def read(path: Path, options: ImportOptions) -> Imported:
    """Read the run of a report."""
    data = read_json(path)
    if data["schema"] != SCHEMA:
        raise BadInput(
            f"expected {SCHEMA!r}, found {data['schema']!r}", where=path, key="schema", remedy="upgrade Demeanor"
        )
    try:
        run = decode(RunInfo, data.get("run"))
        cells, attempts = [], []
        for i, cell in enumerate(expect(data.get("cells"), list, path, "cells")):
            tally = expect(expect(cell, dict, path, f"cells[{i}]").get("tally"), dict, path, f"cells[{i}].tally")
            records = decode(tuple[Record, ...], cell.get("records"))
            planned = sum(as_integer(tally.get(name)) or 0 for name in ("passed", "failed", "voided", "missing"))
            cells.append(
                PlannedCell(
                    eval=expect(tally.get("eval"), str, path, f"cells[{i}].tally.eval"),
                    subject=expect(tally.get("subject"), str, path, f"cells[{i}].tally.subject"),
                    policy=decode(Policy, tally.get("policy")),
                    planned=planned,
                    skipped=tally.get("skipped"),
                    layer=3 if cell.get("layer") == 3 else 2,
                )
            )
            attempts += [WrittenRecord(record=record) for record in records]
    except DecodeError as error:
        raise BadInput(f"can't be read: {error}", where=path, remedy="export the report again") from None
    run = replace(run, kind=options.kind) if options.kind else run
    return Imported(run=run, origin=ORIGIN, source=path, cells=tuple(cells), records=tuple(attempts))
