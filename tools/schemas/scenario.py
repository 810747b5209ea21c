"""The JSON schema of scenario.toml, for editors that complete and check keys while you type.

It is derived from the field tables of the readers; the schema of each check comes from its class in
core/values/checks.py.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping, Sequence
from inspect import cleandoc
from pathlib import Path
from typing import Any

from demeanor.core.values.checks import JudgeCheck
from demeanor.core.values.trajectory import Kind
from demeanor.define.conversation_fields import MESSAGE_FIELDS
from demeanor.define.eval_fields import EVAL_FIELDS
from demeanor.define.field import STRINGS, Field, Schema
from demeanor.define.folder.check_table import CHECKS, EXPECTED, JUDGE_EVIDENCE, QUANTITIES
from demeanor.define.folder.scripted_behaviour import BEHAVIOUR_FIELDS, CALL_FIELDS

from .field_docs import field_docs, without_links

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
    found = _table_of(EVAL_FIELDS)
    found["properties"]["checks"]["items"] = {"oneOf": [_check(name) for name in CHECKS]}
    found["properties"]["judge"]["items"] = _table(JudgeCheck)
    found["required"].remove("checks")  # questions to a judge are enough
    behaviour = _table_of(BEHAVIOUR_FIELDS)
    behaviour["properties"]["calls"]["items"] = _table_of(CALL_FIELDS)
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
        "$defs": {"act": behaviour, "message": _table_of(MESSAGE_FIELDS)},
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


def _table_of(fields: Iterable[Field]) -> Schema:
    """The schema of a table with these fields."""
    keys = [key for key in fields if key.toml is not None]
    properties = {key.name: {**_with_tables(key.schema), "description": _description(key)} for key in keys}
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    required = [key.name for key in keys if key.required]
    return {**schema, "required": required} if required else schema


def _with_tables(schema: Any) -> Any:
    """The schema with those of its tables in place of their fields."""
    if isinstance(schema, tuple):
        return _table_of(schema)
    if isinstance(schema, list):
        return [_with_tables(part) for part in schema]
    if isinstance(schema, dict):
        return {name: _with_tables(part) for name, part in schema.items()}
    return schema


def documentation(key: Field) -> str:
    """What a key is, in Markdown."""
    if key.text or key.doc_of is None:
        return key.text
    return field_docs(key.doc_of)[key.name]


def _description(key: Field) -> str:
    text = without_links(documentation(key))
    return f"{text} Default: {key.default}." if key.default else text
