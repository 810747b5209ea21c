"""One eval over time for programs."""

from __future__ import annotations

import json

from holdfast.report.eval_course import EvalCourse
from holdfast.report.night_json import document_schema
from holdfast.report.plain import plain
from holdfast.report.value_schema import Schema

SCHEMA = "holdfast-history/1"


def course_json(found: EvalCourse) -> str:
    """As JSON, in ASCII."""
    return json.dumps({"schema": SCHEMA, **plain(found)}, indent=2, allow_nan=False) + "\n"


def course_schema() -> Schema:
    """The schema of `holdfast-history/1`."""
    return document_schema(SCHEMA, EvalCourse)
