"""The night report for programs, with a schema that is made from the value itself."""

from __future__ import annotations

import json

from demeanor.commands.report.report import NightReport
from demeanor.render.to_json import plain
from demeanor.render.value_schema import Schema, dataclass_schema, object_schema

SCHEMA = "demeanor-nights/1"
"""Changes with every change that an old reader could stumble over."""


_LARGE = 500


def night_json(report: NightReport) -> str:
    """The report as JSON, in ASCII; a large one on one line, which is made far quicker."""
    large = sum(len(one.rows) for one in report.subjects) > _LARGE
    return json.dumps({"schema": SCHEMA, **plain(report)}, indent=None if large else 2, allow_nan=False) + "\n"


def night_schema() -> Schema:
    """The schema of `demeanor-nights/1`, by the rules of JSON Schema 2020-12."""
    return document_schema(SCHEMA, NightReport)


def document_schema(name: str, kind: type) -> Schema:
    """The schema of a document that holds one value and says which schema it keeps to."""
    definitions: dict[str, Schema] = {}
    own = dataclass_schema(kind, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": name,
        "description": own["description"],
        **object_schema({"schema": {"const": name}, **own["properties"]}),
        "$defs": dict(sorted(definitions.items())),
    }
