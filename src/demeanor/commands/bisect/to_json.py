"""A bisection for programs, with a schema that is made from the value itself."""

from __future__ import annotations

import json

from demeanor.commands.bisect.report import BisectReport
from demeanor.commands.report.to_json import document_schema
from demeanor.render.to_json import plain
from demeanor.render.value_schema import Schema

SCHEMA = "demeanor-bisect/1"
"""Changes with every change that an old reader could stumble over."""


def bisect_json(report: BisectReport) -> str:
    """The bisection as JSON, in ASCII."""
    return json.dumps({"schema": SCHEMA, **plain(report)}, indent=2, allow_nan=False) + "\n"


def bisect_schema() -> Schema:
    """The schema of `demeanor-bisect/1`, by the rules of JSON Schema 2020-12."""
    return document_schema(SCHEMA, BisectReport)
