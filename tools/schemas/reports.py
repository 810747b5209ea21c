"""The JSON schemas of reports, derived from the types of their values."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from inspect import cleandoc
from typing import Any, Literal, TypeAlias, Union

from demeanor.core.text.codec import always_written
from demeanor.core.values.evidence import Spent
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Fail, Finding, Pass, Void
from demeanor.render.documents import ReportDocument
from demeanor.reports.run.report import CellReport, RunReport
from demeanor.reports.run.to_json import SCHEMA

Schema: TypeAlias = dict[str, Any]

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_PRIMITIVES = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}
_RATE: Schema = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
_TRIAL: dict[str, Schema] = {
    "passed": {"type": "boolean"},
    "error": {"type": "string"},
    "durationMs": {"type": "integer", "minimum": 0},
    "stdout": {"type": "string"},
    "stderr": {"type": "string"},
}
_RESULT: dict[str, Schema] = {
    "scenarioId": {"type": "string"},
    "scenarioName": {"type": "string"},
    "model": {"type": "string", "description": "The subject, as agent:model."},
    "modelId": {"type": "string"},
    "metrics": {"$ref": "#/$defs/Metrics"},
    "status": {"enum": ["pass", "flaky", "fail"]},
    "policy": {"enum": [policy.value for policy in Policy]},
    "reason": {"type": "string", "description": "Why the eval was accepted or rejected under its policy."},
}
_COUNTS = ("total", "passed", "failed", "flaky")


def document_schema(document: ReportDocument[Any]) -> Schema:
    """The JSON Schema (2020-12) of a kind of document."""
    definitions: dict[str, Schema] = {}
    own = _dataclass_schema(document.type, definitions)
    return _document(document.name, own["description"], own["properties"], definitions)


def report_schema() -> Schema:
    """The schema of `demeanor-report/1`, by the rules of JSON Schema 2020-12."""
    definitions: dict[str, Schema] = {}
    own = _dataclass_schema(RunReport, definitions)
    cell = definitions[CellReport.__name__]
    cell["properties"] = {"status": {"type": "string"}, **cell["properties"]}
    cell["required"] = ["status", *cell["required"]]
    for kind in (Record, Pass, Fail, Void, Finding, Spent):
        definitions[kind.__name__]["required"] = list(always_written(kind))
    properties = {
        "headline": {"type": "string", "description": "The outcome in one sentence."},
        "timestamp": {"type": "string"},
        "provider": {"type": "string", "description": "The agents, joined by commas."},
        "models": {"type": "array", "items": {"type": "string"}, "description": "The subjects, as agent:model."},
        "scenarios": {"type": "array", "items": {"type": "string"}, "description": "The names of the evals."},
        "trialsPerTest": {"type": "integer", "minimum": 1},
        "results": {
            "type": "array",
            "items": _object({**_RESULT, "trials": {"type": "array", "items": _object(_TRIAL, optional=("error",))}}),
            "description": "The cells with at least one judged trial; voids are left out, see cells.",
        },
        "summary": _object(
            {**{name: {"type": "integer"} for name in _COUNTS}, "passAt1Overall": _RATE, "passAt3Overall": _RATE}
        ),
        **own["properties"],
    }
    definitions["Metrics"] = _object(dict.fromkeys(("passAt1", "passAt3", "passCaret3", "flakinessScore"), _RATE))
    return _document(SCHEMA, "The report of one run of Demeanor.", properties, definitions)


def _document(
    name: str, description: str, properties: Mapping[str, Schema], definitions: Mapping[str, Schema]
) -> Schema:
    """The JSON Schema of a document called `name` with these top-level properties."""
    return {
        "$schema": _DRAFT,
        "title": name,
        "description": description,
        **_object({"schema": {"const": name}, **properties}),
        "$defs": dict(sorted(definitions.items())),
    }


def _object(properties: Mapping[str, Schema], *, optional: tuple[str, ...] = ()) -> Schema:
    """The schema of an object with exactly these properties."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}


def _dataclass_schema(kind: Any, definitions: dict[str, Schema]) -> Schema:
    """The schema of a dataclass; adds the dataclasses that it refers to to `definitions`."""
    hints = typing.get_type_hints(kind)
    fields = {field.name: _schema(hints[field.name], definitions) for field in dataclasses.fields(kind)}
    return {"description": cleandoc(kind.__doc__ or ""), **_object(fields)}


def _schema(kind: Any, definitions: dict[str, Schema]) -> Schema:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is object or kind is Any:
        return {}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_schema(arg, definitions) for arg in args]}
    if origin is Literal:
        return {"enum": list(args)}
    if origin is tuple:
        return {"type": "array", "items": _schema(args[0], definitions)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _schema(args[1], definitions)}
    if dataclasses.is_dataclass(kind):
        name = getattr(kind, "__name__", "")
        if name not in definitions:
            definitions[name] = _dataclass_schema(kind, definitions)
        return {"$ref": f"#/$defs/{name}"}
    if issubclass(kind, Enum):
        return {"enum": [member.value for member in kind]}
    return {"type": _PRIMITIVES[kind]}
