"""One eval over time for programs."""

from __future__ import annotations

import json

from demeanor.commands.history.report import EvalHistory
from demeanor.commands.report.to_json import document_schema
from demeanor.render.to_json import plain
from demeanor.render.value_schema import Schema

SCHEMA = "demeanor-history/1"


def course_json(found: EvalHistory) -> str:
    """As JSON, in ASCII."""
    return json.dumps({"schema": SCHEMA, **plain(found)}, indent=2, allow_nan=False) + "\n"


def course_schema() -> Schema:
    """The schema of `demeanor-history/1`."""
    return document_schema(SCHEMA, EvalHistory)
