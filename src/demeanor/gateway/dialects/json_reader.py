"""Reads and checks JSON from the wire, and writes it.

A reader gets its fields with `string`, `maybe_object`, `maybe_list` and so on. Each raises Malformed if the field has a
wrong type; code that walks a list adds the path to the error with `prefix_error`, so valid data needs no path building.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import cache, partial
from typing import Any, NoReturn, TypeAlias, TypeVar

from demeanor.gateway.dialects import strict_json
from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.dialects.known_items import ABOVE_A_LIST, KnownItems

Json: TypeAlias = dict[str, Any]
T = TypeVar("T")

_NUMBER_LIMIT = 2**63
_KNOWN = KnownItems()


def parse(body: bytes, later: Collection[str] = ()) -> Any:
    """The JSON data in `body`."""
    try:
        return strict_json.loads(body, later)
    except ValueError as error:
        raise Malformed(f"the body is not valid JSON: {error}") from None


def parse_object(body: bytes, later: Collection[str] = ()) -> Json:
    """The JSON object in `body`. The lists in its fields `later` have to be read with `read_repeated` or
    `read_unchanged`, which check how deep they nest."""
    return require_object(parse(body, later), "the body")


def to_json(data: Any) -> bytes:
    """`data` as compact JSON."""
    return strict_json.compact(data).encode("ascii")


def extra_fields(data: Json, names: frozenset[str]) -> Json:
    """The fields that the canonical form lacks, and the empty ones: it can't tell `null`, `[]` and absent apart."""
    if data.keys() <= names and all(data.values()):
        return {}
    return {key: value for key, value in data.items() if not value or key not in names}


def own_fields(extra: Mapping[str, Any], name: str) -> Json:
    """The fields in `extra` that belong to the dialect `name`."""
    return extra.get(name) or {}


def as_extra(name: str, fields: Json) -> Mapping[str, Any]:
    """`fields` as the `extra` of a value that the dialect `name` read."""
    return {name: fields} if fields else {}


def unknown_fields(name: str, data: Json, names: frozenset[str]) -> Mapping[str, Any]:
    """The fields of `data` that are not in `names`, as the `extra` of a value that the dialect `name` read."""
    return {name: {key: value for key, value in data.items() if key not in names}}


def prefix_error(step: str | int, error: Malformed) -> Malformed:
    """`error` with one more step in front of its path."""
    detail = str(error)
    prefix = f"[{step}]" if isinstance(step, int) else step
    return Malformed(f"{prefix}{detail}" if detail.startswith("[") else f"{prefix}.{detail}")


def read_each(data: Json, key: str, read: Callable[[Json], T]) -> tuple[T, ...]:
    """Apply `read` to every object in the list `data[key]`; empty if there is no list."""
    listed = data.get(key)
    if listed is None:
        return ()
    if listed.__class__ is not list:
        reject(key, "a list", listed)
    items: list[T] = []
    try:
        for item in listed:
            items.append(read(item) if item.__class__ is dict else reject("item", "an object", item))
    except Malformed as error:
        raise prefix_error(key, prefix_error(len(items), error)) from None
    return tuple(items)


def read_repeated(data: Json, key: str, read: Callable[[Json], T]) -> tuple[T, ...]:
    """The same for a list that later requests repeat: what was read of an item before is used again."""
    return read_each(data, key, partial(_KNOWN.read, read=read))


def read_unchanged(data: Json, key: str, read: Callable[[Json], T]) -> tuple[T, ...]:
    """The same for a list that later requests repeat as a whole, such as the tools; faster then."""
    listed = data.get(key)
    if listed.__class__ is not list:
        return read_each(data, key, read)
    return _KNOWN.read(listed, _list_reader(key, read), above=ABOVE_A_LIST)


@cache
def _list_reader(key: str, read: Callable[[Json], T]) -> Callable[[list[Any]], tuple[T, ...]]:
    return lambda listed: read_repeated({key: listed}, key, read)


def reject(name: str, expected: str, value: Any) -> NoReturn:
    """Raise Malformed for a value of a wrong type."""
    shown = "null" if value is None else type(value).__name__
    raise Malformed(f"{name}: expected {expected}, found {shown}")


def require_object(value: Any, name: str) -> Json:
    """`value`, which must be an object."""
    return value if isinstance(value, dict) else reject(name, "an object", value)


def require_list(data: Json, key: str) -> list[Any]:
    """The list `data[key]`, which is required."""
    value = data.get(key)
    return value if isinstance(value, list) else reject(key, "a list", value)


def maybe_object(data: Json, key: str) -> Json:
    """The object `data[key]`; an empty one if it is absent."""
    value = data.get(key)
    return {} if value is None else require_object(value, key)


def maybe_list(data: Json, key: str) -> list[Any]:
    """The list `data[key]`; an empty one if it is absent."""
    value = data.get(key)
    if value is None:
        return []
    return value if isinstance(value, list) else reject(key, "a list", value)


def string(data: Json, key: str) -> str:
    """The string `data[key]`, which is required."""
    value = data.get(key)
    return value if isinstance(value, str) else reject(key, "a string", value)


def maybe_string(data: Json, key: str) -> str | None:
    """The string `data[key]`, if present."""
    value = data.get(key)
    return value if value is None or isinstance(value, str) else reject(key, "a string", value)


def maybe_flag(data: Json, key: str) -> bool | None:
    """The boolean `data[key]`, if present."""
    value = data.get(key)
    return value if value is None or isinstance(value, bool) else reject(key, "true or false", value)


def maybe_count(data: Json, key: str) -> int | None:
    """The integer `data[key]`, if present; `3.0` is accepted too."""
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        reject(key, "a whole number", value)
    if not -_NUMBER_LIMIT <= value < _NUMBER_LIMIT:
        raise Malformed(f"{key}: the number is too big")
    return int(value)


def maybe_number(data: Json, key: str) -> float | None:
    """The number `data[key]`, if present."""
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        reject(key, "a number", value)
    if not -_NUMBER_LIMIT <= value < _NUMBER_LIMIT:
        raise Malformed(f"{key}: the number is too big")
    return value


def strings(value: Any, name: str) -> tuple[str, ...]:
    """One string or a list of strings, as a tuple."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        reject(name, "a string or a list of strings", value)
    return tuple(value)
