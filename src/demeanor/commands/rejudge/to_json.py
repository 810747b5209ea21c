"""A second judgement for programs, with a schema that is made from the value itself."""

from __future__ import annotations

import json

from demeanor.commands.rejudge.report import Rejudgement
from demeanor.commands.report.to_json import document_schema
from demeanor.render.to_json import plain
from demeanor.render.value_schema import Schema

SCHEMA = "demeanor-rejudge/1"
"""Changes with every change that an old reader could stumble over."""


def rejudge_json(report: Rejudgement) -> str:
    """The rejudgement as JSON, in ASCII."""
    return json.dumps({"schema": SCHEMA, **plain(report)}, indent=2, allow_nan=False) + "\n"


def rejudge_schema() -> Schema:
    """The schema of `demeanor-rejudge/1`, by the rules of JSON Schema 2020-12."""
    return document_schema(SCHEMA, Rejudgement)
