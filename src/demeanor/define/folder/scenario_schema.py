"""The JSON schema of scenario.toml, for editors that complete and check keys while you type.

It is derived from the field tables of the readers; the schema of each check comes from its class in
core/values/checks.py.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping, Sequence
from inspect import cleandoc
from pathlib import Path
from typing import Any

from demeanor.core.values.checks import JudgeCheck
from demeanor.core.values.trajectory import Kind
from demeanor.define.conversation_fields import MESSAGE_FIELDS
from demeanor.define.eval_fields import EVAL_FIELDS
from demeanor.define.field import STRINGS, Schema, field_docs, object_schema
from demeanor.define.folder.check_table import CHECKS, EXPECTED, JUDGE_EVIDENCE, QUANTITIES
from demeanor.define.folder.scripted_behaviour import BEHAVIOUR_FIELDS, CALL_FIELDS

_KEYS = {"negated": "not"}
"""Keys of scenario.toml that differ from the name of the field."""

_TYPES = {str: "string", Path: "string", int: "integer", float: "number", bool: "boolean"}
_ENUMS: dict[str, Schema] = {
    "kind": {"enum": [kind.value for kind in Kind]},
    "quantity": {"enum": list(QUANTITIES)},
    "expect": {"enum": list(EXPECTED)},
    "evidence": {"type": "array", "minItems": 1, "items": {"enum": list(JUDGE_EVIDENCE)}},
}


def scenario_schema() -> Schema:
    """The schema, in JSON Schema 2020-12."""
    found = object_schema(EVAL_FIELDS)
    found["properties"]["checks"]["items"] = {"oneOf": [_check(name) for name in CHECKS]}
    found["properties"]["judge"]["items"] = _table(JudgeCheck)
    found["required"].remove("checks")  # questions to a judge are enough
    behaviour = object_schema(BEHAVIOUR_FIELDS)
    behaviour["properties"]["calls"]["items"] = object_schema(CALL_FIELDS)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "scenario.toml",
        "description": "An eval without Python.",
        **found,
        "oneOf": [
            {"required": ["prompt"]},
            {"required": ["prompts"]},
            {"properties": {"user": {"required": ["opening"]}}, "required": ["user"]},
        ],
        "anyOf": [{"required": ["checks"]}, {"required": ["judge"]}],
        "$defs": {"act": behaviour, "message": object_schema(MESSAGE_FIELDS)},
    }


def _check(name: str) -> Schema:
    kind = CHECKS[name].kind
    return _table(kind, {"check": {"const": name, "description": cleandoc(kind.__doc__ or "")}}, CHECKS[name].fixed)


def _table(kind: type, first: Mapping[str, Schema] | None = None, fixed: Sequence[str] = ()) -> Schema:
    """The schema of a table that becomes a value of this class; the keys in `first` are required."""
    docs = field_docs(kind)
    hints = typing.get_type_hints(kind)
    properties = dict(first or {})
    required = list(properties)
    for field in dataclasses.fields(kind):
        if field.name not in fixed:
            key = _KEYS.get(field.name, field.name)
            properties[key] = {**(_ENUMS.get(field.name) or _of(hints[field.name])), "description": docs[field.name]}
            if field.default is dataclasses.MISSING:
                required.append(key)
    return {"type": "object", "properties": properties, "additionalProperties": False, "required": required}


def _of(hint: Any) -> Schema:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return _of(typing.get_args(hint)[0])
    if typing.get_origin(hint) is tuple:
        return STRINGS
    return {"type": _TYPES[hint]} if hint in _TYPES else {}
