"""The JSON schema of report.json, made from the values themselves, so that the two can't drift apart."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal, TypeAlias, Union

from holdfast.report.json_report import SCHEMA
from holdfast.report.run_report import CellReport, RunReport

Schema: TypeAlias = dict[str, Any]

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}
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
}
_COUNTS = ("total", "passed", "failed", "flaky")


def json_schema() -> Schema:
    """The schema of `holdfast-report/1`, by the rules of JSON Schema 2020-12."""
    definitions: dict[str, Schema] = {}
    own = _dataclass(RunReport, definitions)
    cell = definitions[CellReport.__name__]
    cell["properties"] = {"status": {"type": "string"}, **cell["properties"]}
    cell["required"] = ["status", *cell["required"]]
    properties = {
        "schema": {"const": SCHEMA},
        "headline": {"type": "string", "description": "Whether it held, in one sentence."},
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
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SCHEMA,
        "description": "All that is known of one run of Holdfast.",
        **_object(properties),
        "$defs": dict(sorted(definitions.items())),
    }


def _object(properties: Mapping[str, Schema], *, optional: tuple[str, ...] = ()) -> Schema:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required, "additionalProperties": False}


def _schema(kind: Any, definitions: dict[str, Schema]) -> Schema:
    """The schema of one type; dataclasses are put among the definitions and referred to."""
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
            definitions[name] = _dataclass(kind, definitions)
        return {"$ref": f"#/$defs/{name}"}
    if issubclass(kind, Enum):
        return {"enum": [member.value for member in kind]}
    return {"type": _PLAIN[kind]}


def _dataclass(kind: Any, definitions: dict[str, Schema]) -> Schema:
    hints = typing.get_type_hints(kind)
    fields = {field.name: _schema(hints[field.name], definitions) for field in dataclasses.fields(kind)}
    return {"description": (kind.__doc__ or "").strip(), **_object(fields)}
