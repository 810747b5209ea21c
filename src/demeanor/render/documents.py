"""JSON documents with a named, versioned schema, which tools/schemas/reports.py derives from the type of the value."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Generic, TypeVar

T = TypeVar("T")

_COMPACT = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class ReportDocument(Generic[T]):
    """One kind of JSON document: the fields of a dataclass, plus `schema` with the name of the document's schema."""

    kind: str
    """What it documents: `gate`, `nights`."""

    type: type[T]
    """The dataclass that it is written from."""

    version: int = 1
    """Increases with every change that an existing reader can't handle."""

    @property
    def name(self) -> str:
        """The name of the schema: `demeanor-gate/1`."""
        return f"demeanor-{self.kind}/{self.version}"

    def write(self, value: T, *, compact: bool = False) -> str:
        """The document as ASCII text; `compact` puts it on one line, which is much faster for large values."""
        data = {"schema": self.name, **json_data(value)}
        return json.dumps(data, indent=None if compact else 2, allow_nan=False) + "\n"


def json_data(value: Any) -> Any:
    """`value` as JSON data. Every field is written, including those that have their default value."""
    kind = type(value)
    if kind is str or kind is int or kind is bool or value is None:
        return value
    if kind is float:
        # JSON has no infinity and no NaN, but an agent's log may contain an infinite cost.
        return value if math.isfinite(value) else None
    if isinstance(value, Enum):
        return value.value
    if dataclasses.is_dataclass(kind):
        return {name: json_data(getattr(value, name)) for name in kind.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {str(key): json_data(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_data(item) for item in value]
    return value


def grouped(pieces: Iterable[str], size: int = 2**16) -> Iterator[str]:
    """The same text in pieces of at least `size` characters, apart from the last one; no piece is cut."""
    waiting: list[str] = []
    length = 0
    for piece in pieces:
        waiting.append(piece)
        length += len(piece)
        if length >= size:
            yield "".join(waiting)
            waiting, length = [], 0
    if waiting:
        yield "".join(waiting)


def compact_object(fields: Mapping[str, Any]) -> Iterator[str]:
    """An object as an item of such a document, in pieces. A value that is an iterator becomes a list, item by item: the
    data of all items at once would need much memory."""
    between = "{"
    for name, value in fields.items():
        yield f"{between}{_COMPACT.encode(name)}:"
        between = ","
        if isinstance(value, Iterator):
            yield "["
            yield from (f"{',' if number else ''}{_COMPACT.encode(item)}" for number, item in enumerate(value))
            yield "]"
        else:
            yield _COMPACT.encode(value)
    yield "}" if fields else "{}"


def item_pieces(data: Mapping[str, Any]) -> Iterator[str]:
    """A large document as ASCII text, in pieces: one line per key, and one per item of a list, without blanks inside
    items. `json.dumps(indent=…)` takes several times as long as everything else that a report needs.
    """
    between = "{\n"
    for key, value in data.items():
        yield f"{between}  {json.dumps(key)}: "
        between = ",\n"
        if isinstance(value, list) and value:
            for number, item in enumerate(value):
                yield ",\n    " if number else "[\n    "
                yield from item if isinstance(item, Iterator) else (_COMPACT.encode(item),)
            yield "\n  ]"
        else:
            yield json.dumps(value, allow_nan=False)
    yield "\n}\n"
