"""The JSON schema of a value, made from its type, so that the two can't drift apart."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from typing import Any, Literal, TypeAlias, Union

Schema: TypeAlias = dict[str, Any]

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}


def object_schema(properties: Mapping[str, Schema], *, optional: tuple[str, ...] = ()) -> Schema:
    """The schema of an object with these fields and no others."""
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
            definitions[name] = dataclass_schema(kind, definitions)
        return {"$ref": f"#/$defs/{name}"}
    if issubclass(kind, Enum):
        return {"enum": [member.value for member in kind]}
    return {"type": _PLAIN[kind]}


def dataclass_schema(kind: Any, definitions: dict[str, Schema]) -> Schema:
    """The schema of a dataclass; those within it are put among the definitions."""
    hints = typing.get_type_hints(kind)
    fields = {field.name: _schema(hints[field.name], definitions) for field in dataclasses.fields(kind)}
    return {"description": (kind.__doc__ or "").strip(), **object_schema(fields)}
