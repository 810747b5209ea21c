"""report.json: all that is known of a run, for programs.

The schema is versioned and lies beside this file. The fields of the smoke-test reports that teams have tools for
(`results`, `summary` and what surrounds them) are there under their own names, so those tools can read it as well. A
void is neither a pass nor a fail, so it does not appear in them; all of it is in `cells`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any

from demeanor.commands.run import phrases as words
from demeanor.commands.run.report import CellReport, RunReport
from demeanor.core.codec import decode
from demeanor.core.record import Record
from demeanor.core.tally import Status
from demeanor.core.text import excerpt, opening
from demeanor.core.verdict import Fail
from demeanor.render.to_json import in_lines, plain
from demeanor.statistics.flakiness import flakiness

SCHEMA = "demeanor-report/1"
"""Changes with every change that an old reader could stumble over."""

_OWN = ("run", "cells", "summaries", "exit_code", "seconds", "folder", "notes")
_JUDGED = (Status.PASS, Status.FLAKY, Status.FAIL)


def json_report(report: RunReport) -> str:
    """The report as JSON, in ASCII, so that no terminal or tool stumbles over what an agent wrote."""
    return in_lines(_document(report))


def read_json_report(text: str) -> RunReport:
    """The report that `json_report` wrote; raises ValueError where it is none."""
    document = json.loads(text)
    found = document.get("schema") if isinstance(document, dict) else None
    if found != SCHEMA:
        raise ValueError(f"schema: expected {SCHEMA!r}, found {found!r}")
    known = {name: document[name] for name in _OWN if name in document}
    known["cells"] = [{name: cell[name] for name in cell if name != "status"} for cell in known.get("cells", ())]
    return decode(RunReport, known)


def _document(report: RunReport) -> dict[str, Any]:
    judged = [cell for cell in report.cells if cell.tally.status in _JUDGED]
    return {
        "schema": SCHEMA,
        "headline": words.headline(report),
        **_smoke_report(report, judged),
        **{name: plain(getattr(report, name)) for name in _OWN},
        "cells": [{"status": words.status(cell), **plain(cell)} for cell in report.cells],
    }


def _smoke_report(report: RunReport, judged: Sequence[CellReport]) -> dict[str, Any]:
    """The fields that tools made for smoke-test reports look for."""
    statuses = [cell.tally.status for cell in judged]
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
            "passAt1Overall": _mean(cell.tally.pass_at.get(1) for cell in judged),
            "passAt3Overall": _mean(cell.tally.pass_at.get(3) for cell in judged),
        },
    }


def _result(cell: CellReport) -> dict[str, Any]:
    found = cell.tally
    return {
        "scenarioId": found.eval,
        "scenarioName": cell.description or found.eval,
        "model": found.subject,
        "modelId": cell.model or cell.agent,
        "trials": [_trial(record) for record in cell.trials if record.verdict.outcome != "void"],
        "metrics": {
            "passAt1": found.pass_at.get(1),
            "passAt3": found.pass_at.get(3),
            "passCaret3": found.pass_hat.get(3),
            "flakinessScore": flakiness(found.judged, found.passed),
        },
        "status": found.status.value.lower(),
    }


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
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if known else None


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
