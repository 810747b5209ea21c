"""Renders the report of a run as JSON, report.json, for programs.

The schema is versioned and generated from the values (tools/schemas/reports.py). In records, of which a large run has
many, fields with their default value are left out, as in the ledger. The document also has the fields of a common
smoke-test format (`results`, `summary` and those around them), so that tools for that format can read it. A void is
neither a pass nor a fail, so these fields leave it out; `cells` has everything.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from demeanor.core.text.codec import decode, encode
from demeanor.core.text.wording import excerpt, opening
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record
from demeanor.core.values.tally import Status
from demeanor.core.values.verdict import Fail
from demeanor.render import compact_object, grouped, item_pieces, json_data
from demeanor.reports.run import phrases as words
from demeanor.reports.run.report import CellReport, RunReport
from demeanor.statistics import flakiness

SCHEMA = "demeanor-report/1"
"""Changes with every incompatible change."""

_OWN = ("run", "cells", "summaries", "case_groups", "exit_code", "seconds", "folder", "notes", "collection")
_JUDGED = (Status.PASS, Status.FLAKY, Status.FAIL)


def json_report(report: RunReport) -> str:
    """The report as JSON, in ASCII only, because it contains text of agents."""
    return "".join(json_pieces(report))


def json_pieces(report: RunReport) -> Iterator[str]:
    """The text of `json_report` in pieces, because that of a long run needs much memory. No piece ends in a record."""
    return grouped(item_pieces(_document(report)))


def read_json_report(text: str) -> RunReport:
    """Read what `json_report` wrote; raises ValueError if the text is something else."""
    document = json.loads(text)
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != SCHEMA:
        raise ValueError(f"schema: expected {SCHEMA!r}, found {schema!r}")
    fields = {name: document[name] for name in _OWN if name in document}
    fields["cells"] = [{name: cell[name] for name in cell if name != "status"} for cell in fields.get("cells", ())]
    return decode(RunReport, fields)


def _document(report: RunReport) -> dict[str, Any]:
    judged = [cell for cell in report.cells if cell.tally.status in _JUDGED]
    return {
        "schema": SCHEMA,
        "headline": words.headline(report),
        **_smoke_report(report, judged),
        **{name: json_data(getattr(report, name)) for name in _OWN if name != "cells"},
        "cells": [_cell(cell) for cell in report.cells],
    }


def _cell(cell: CellReport) -> Iterator[str]:
    """A cell in pieces: a long run has tens of thousands of records."""
    records = (json_data(encode(record)) for record in cell.records)
    return compact_object({"status": words.status(cell), **json_data(replace(cell, records=())), "records": records})


def _smoke_report(report: RunReport, judged: Sequence[CellReport]) -> dict[str, Any]:
    """The fields of the smoke-test format."""
    statuses = [cell.tally.status for cell in judged]
    counted = [cell for cell in judged if cell.tally.policy is not Policy.USUALLY_FAILS]
    return {
        "timestamp": report.run.started,
        "provider": ",".join(_unique(cell.agent for cell in report.cells)),
        "models": _unique(cell.tally.subject for cell in report.cells),
        "scenarios": _unique(cell.tally.eval for cell in report.cells),
        "trialsPerTest": report.run.trials,
        "results": [_result(cell) for cell in judged],
        "summary": {
            "total": len(judged),
            "passed": statuses.count(Status.PASS),
            "failed": statuses.count(Status.FAIL),
            "flaky": statuses.count(Status.FLAKY),
            "passAt1Overall": _mean(cell.tally.pass_at.get(1) for cell in counted),
            "passAt3Overall": _mean(cell.tally.pass_at.get(3) for cell in counted),
        },
    }


def _result(cell: CellReport) -> Iterator[str]:
    """A cell with judged trials in pieces."""
    tally = cell.tally
    fields = {
        "scenarioId": tally.eval,
        "scenarioName": cell.description or tally.eval,
        "model": tally.subject,
        "modelId": cell.model or cell.agent,
        "trials": (_trial(record) for record in cell.trials if record.verdict.outcome != "void"),
        "metrics": {
            "passAt1": tally.pass_at.get(1),
            "passAt3": tally.pass_at.get(3),
            "passCaret3": tally.pass_hat.get(3),
            "flakinessScore": flakiness(tally.judged, tally.passed),
        },
        "status": tally.status.value.lower(),
        "policy": tally.policy.value,
        "reason": cell.decision.reason,
    }
    return compact_object(fields)


def _trial(record: Record) -> dict[str, Any]:
    error = {"error": opening(record.verdict.reason)} if isinstance(record.verdict, Fail) else {}
    return {
        "passed": record.verdict.outcome == "pass",
        **error,
        "durationMs": round(record.spent.seconds * 1000),
        "stdout": excerpt(record.stdout),
        "stderr": excerpt(record.stderr),
    }


def _mean(values: Iterable[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return math.fsum(numbers) / len(numbers) if numbers else None


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
