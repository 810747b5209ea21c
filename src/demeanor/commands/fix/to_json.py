"""A fix for programs, with a schema that is made from the value itself."""

from __future__ import annotations

import json
from typing import Any

from demeanor.commands.fix.diagnosis import Diagnosis
from demeanor.commands.fix.report import FixReport
from demeanor.commands.report.to_json import document_schema
from demeanor.render.to_json import plain
from demeanor.render.value_schema import Schema

SCHEMA = "demeanor-fix/1"
"""Changes with every change that an old reader could stumble over."""

BRIEF_SCHEMA = "demeanor-fix-brief/1"


def fix_json(report: FixReport) -> str:
    """The fix as JSON, in ASCII."""
    return json.dumps({"schema": SCHEMA, **plain(report)}, indent=2, allow_nan=False) + "\n"


def brief_value(found: Diagnosis, brief: str) -> dict[str, Any]:
    """What a mere look finds, as JSON data."""
    return {
        "schema": BRIEF_SCHEMA,
        "run": found.run.id,
        "commit": found.commit,
        "evals": [one.name for one in found.evals],
        "subjects": list(found.subjects),
        "places": plain(found.places),
        "allowed": list(found.allowed),
        "notes": list(found.notes),
        "brief": brief,
    }


def fix_schema() -> Schema:
    """The schema of `demeanor-fix/1`, by the rules of JSON Schema 2020-12."""
    return document_schema(SCHEMA, FixReport)
