"""An analysis for programs."""

from __future__ import annotations

import json

from demeanor.commands.analyze.report import Analysis
from demeanor.commands.report.to_json import document_schema
from demeanor.render.to_json import plain
from demeanor.render.value_schema import Schema

SCHEMA = "demeanor-analysis/1"


def analysis_json(found: Analysis) -> str:
    """As JSON, in ASCII."""
    return json.dumps({"schema": SCHEMA, **plain(found)}, indent=2, allow_nan=False) + "\n"


def analysis_schema() -> Schema:
    """The schema of `demeanor-analysis/1`."""
    return document_schema(SCHEMA, Analysis)
