"""A table that describes instead of reads: the readers of the configuration, run on it, yield a JSON schema.

So the readers are the only description of the configuration's keys, types and bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

from demeanor.config.table import LARGEST, SIZE_PATTERN, Table

Schema: TypeAlias = dict[str, Any]
T = TypeVar("T")

STRING: Schema = {"type": "string"}
STRINGS: Schema = {"type": "array", "items": STRING}
_TYPES: dict[type, Schema] = {
    bool: {"type": "boolean"},
    str: STRING,
    int: {"type": "integer"},
    float: {"type": "number"},
    dict: {"type": "object"},
    list: {"type": "array"},
}


class SchemaTable(Table):
    """Every getter records the schema of its key, and returns what it would return if the key were absent.

    Nested tables are always there, so that their keys are recorded too.
    """

    def __init__(self, *, prefix: str = "") -> None:
        super().__init__({}, where="schema", prefix=prefix)
        self.properties: dict[str, Schema] = {}
        self._nested: dict[str, SchemaTable] = {}
        self._required: list[str] = []
        self._open = True

    @property
    def schema(self) -> Schema:
        """The schema of the table: closed if its reader rejects unknown keys."""
        properties = {key: _with_nested(found, self._nested.get(key)) for key, found in self.properties.items()}
        found: Schema = {"type": "object", "properties": properties}
        if not self._open:
            found["additionalProperties"] = False
        return {**found, "required": self._required} if self._required else found

    def fail(self, key: str, problem: str, remedy: str | None = None) -> None:  # type: ignore[override]
        """Nothing is wrong with a description; a key that a reader misses is a required one."""
        if problem == "is required" and key in self.properties:
            self._required.append(key)
            if self.properties[key] == STRINGS:
                self.properties[key] = {**STRINGS, "minItems": 1}

    def take(
        self, key: str, kind: type[T], default: T | None = None, *, required: bool = False, example: str | None = None
    ) -> T | None:
        """Record a value of type `kind`."""
        self._record(key, _TYPES[kind])
        if required:
            self._required.append(key)
        return default

    def anything(self, key: str) -> Any:
        """Record a value of any type."""
        self._record(key, {})
        return None

    def number(self, key: str, *, least: float, most: float = math.inf) -> float | None:
        """Record a number within bounds."""
        limits = {"minimum": least} | ({"maximum": most} if most != math.inf else {})
        self._record(key, {"type": "number", **limits})
        return None

    def whole(self, key: str, *, least: int, most: int = LARGEST) -> int | None:
        """Record an integer within bounds."""
        self._record(key, {"type": "integer", "minimum": least, "maximum": most})
        return None

    def whole_or_text(self, key: str, *, least: int, most: int) -> str:
        """Record an integer within bounds, and a string."""
        self.whole(key, least=least, most=most)
        return self.text(key)

    def texts(self, key: str) -> tuple[str, ...]:
        """Record a list of strings."""
        self._record(key, STRINGS)
        return ()

    def command(self, key: str) -> tuple[str, ...]:
        """Record a command: one string, or a list of words."""
        return self.words(key)

    def maybe_texts(self, key: str) -> tuple[str, ...] | None:
        """Record a list of strings as one form of a key; the getter that follows records the other."""
        self.texts(key)
        return None

    def words(self, key: str) -> tuple[str, ...]:
        """Record a string or a list of strings."""
        self._record(key, {"anyOf": [{**STRING, "minLength": 1}, {**STRINGS, "minItems": 1}]})
        return ()

    def size(self, key: str, default: int) -> int:
        """Record a number with a unit."""
        self._record(key, {**STRING, "pattern": f"^{SIZE_PATTERN}$"})
        return default

    def strings(self, key: str) -> dict[str, str]:
        """Record a table of strings."""
        self._record(key, {"type": "object", "additionalProperties": STRING})
        return {}

    def choice(self, key: str, choices: Sequence[str], default: str | None = None) -> str | None:
        """Record one of `choices`."""
        self._record(key, {"enum": list(choices)})
        return default

    def table(self, key: str) -> SchemaTable:
        """Record a nested table."""
        self._record(key, _TYPES[dict])
        return self._below(key)

    def named(self, key: str, read: Callable[[Table], T]) -> dict[str, T]:
        """Record a table whose keys are names."""
        below = SchemaTable(prefix=f"{self.prefix}{key}.NAME.")
        read(below)
        self._record(key, {"type": "object", "additionalProperties": below.schema})
        return {}

    def tables(self, key: str) -> list[Table]:
        """Record a list of nested tables."""
        self._record(key, _TYPES[list])
        return [self._below(key)]

    def finish(self) -> None:
        """There are no other keys."""
        self._open = False

    def _below(self, key: str) -> SchemaTable:
        return self._nested.setdefault(key, SchemaTable(prefix=f"{self.prefix}{key}."))

    def _record(self, key: str, schema: Schema) -> None:
        """A key that is asked for in two ways has two forms."""
        before = self.properties.get(key)
        self.properties[key] = schema if not before or before == schema else {"anyOf": [before, schema]}


def _with_nested(schema: Schema, nested: SchemaTable | None) -> Schema:
    """The schema of a key with that of its nested table."""
    if nested is None:
        return schema
    if "anyOf" in schema:
        return {**schema, "anyOf": [_with_nested(one, nested) for one in schema["anyOf"]]}
    if schema == _TYPES[dict]:
        return nested.schema
    return {**schema, "items": nested.schema} if schema == _TYPES[list] else schema
