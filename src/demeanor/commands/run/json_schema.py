"""The JSON schema of report.json, made from the values themselves, so that the two can't drift apart."""

from __future__ import annotations

from demeanor.commands.run.report import CellReport, RunReport
from demeanor.commands.run.to_json import SCHEMA
from demeanor.render.value_schema import Schema, dataclass_schema, object_schema

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
    """The schema of `demeanor-report/1`, by the rules of JSON Schema 2020-12."""
    definitions: dict[str, Schema] = {}
    own = dataclass_schema(RunReport, definitions)
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
            "items": object_schema(
                {**_RESULT, "trials": {"type": "array", "items": object_schema(_TRIAL, optional=("error",))}}
            ),
            "description": "The cells with at least one judged trial; voids are left out, see cells.",
        },
        "summary": object_schema(
            {**{name: {"type": "integer"} for name in _COUNTS}, "passAt1Overall": _RATE, "passAt3Overall": _RATE}
        ),
        **own["properties"],
    }
    definitions["Metrics"] = object_schema(dict.fromkeys(("passAt1", "passAt3", "passCaret3", "flakinessScore"), _RATE))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SCHEMA,
        "description": "All that is known of one run of Demeanor.",
        **object_schema(properties),
        "$defs": dict(sorted(definitions.items())),
    }
