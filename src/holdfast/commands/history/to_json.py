"""One eval over time for programs."""

from __future__ import annotations

import json

from holdfast.commands.history.report import EvalCourse
from holdfast.commands.report.to_json import document_schema
from holdfast.render.to_json import plain
from holdfast.render.value_schema import Schema

SCHEMA = "holdfast-history/1"


def course_json(found: EvalCourse) -> str:
    """As JSON, in ASCII."""
    return json.dumps({"schema": SCHEMA, **plain(found)}, indent=2, allow_nan=False) + "\n"


def course_schema() -> Schema:
    """The schema of `holdfast-history/1`."""
    return document_schema(SCHEMA, EvalCourse)
