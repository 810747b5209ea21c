"""A triage for programs, with a schema that is made from the value itself."""

from __future__ import annotations

import json

from demeanor.commands.report.to_json import document_schema
from demeanor.commands.triage.report import Triage
from demeanor.render.to_json import plain
from demeanor.render.value_schema import Schema

SCHEMA = "demeanor-triage/1"
"""Changes with every change that an old reader could stumble over."""


def triage_json(found: Triage) -> str:
    """The triage as JSON, in ASCII."""
    return json.dumps({"schema": SCHEMA, **plain(found)}, indent=2, allow_nan=False) + "\n"


def triage_schema() -> Schema:
    """The schema of `demeanor-triage/1`, by the rules of JSON Schema 2020-12."""
    return document_schema(SCHEMA, Triage)
