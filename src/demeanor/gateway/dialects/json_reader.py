"""JSON at the door: bytes to checked data and back.

A reader asks for what it needs with `string`, `mapping`, `items` and the like. Each raises Malformed with what is
wrong; whoever walks a list puts the place in front with `inside`, so that the path costs nothing while all is well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeAlias, TypeVar

from demeanor.gateway.dialects import strict_json as jsontext
from demeanor.gateway.dialects.dialect import Malformed

Json: TypeAlias = dict[str, Any]
T = TypeVar("T")

_BIGGEST = 2**63


def parse(body: bytes) -> Any:
    """The JSON data in `body`."""
    try:
        return jsontext.loads(body)
    except ValueError as error:
        raise Malformed(f"the body is no JSON: {error}") from None


def parse_object(body: bytes) -> Json:
    """The JSON object in `body`."""
    return mapping(parse(body), "the body")


def dump(data: Any) -> bytes:
    """`data` as compact JSON."""
    return jsontext.compact(data).encode("ascii")


def leftover(data: Json, known: frozenset[str]) -> Json:
    """The fields that the canon has no word for, and the empty ones: it can't tell `null`, `[]` and absent apart."""
    if data.keys() <= known and all(data.values()):
        return {}
    return {key: value for key, value in data.items() if not value or key not in known}


def own(extra: Mapping[str, Any], name: str) -> Json:
    """The fields in `extra` that belong to the dialect `name`."""
    return extra.get(name) or {}


def kept(name: str, fields: Json) -> Mapping[str, Any]:
    """`fields` as the extra of a value that the dialect `name` read."""
    return {name: fields} if fields else {}


def inside(place: str | int, error: Malformed) -> Malformed:
    """`error`, seen from one level further out."""
    inner = str(error)
    step = f"[{place}]" if isinstance(place, int) else place
    return Malformed(f"{step}{inner}" if inner.startswith("[") else f"{step}.{inner}")


def each(data: Json, key: str, read: Callable[[Json], T]) -> tuple[T, ...]:
    """What `read` makes of every object in the list `data[key]`; nothing where there is no list."""
    listed = data.get(key)
    if listed is None:
        return ()
    if listed.__class__ is not list:
        wrong(key, "a list", listed)
    found: list[T] = []
    try:
        for item in listed:
            found.append(read(item) if item.__class__ is dict else wrong("item", "an object", item))
    except Malformed as error:
        raise inside(key, inside(len(found), error)) from None
    return tuple(found)


def wrong(name: str, wanted: str, value: Any) -> NoReturn:
    """Refuse a value."""
    shown = "null" if value is None else type(value).__name__
    raise Malformed(f"{name}: expected {wanted}, found {shown}")


def mapping(value: Any, name: str) -> Json:
    """`value`, which must be an object."""
    return value if isinstance(value, dict) else wrong(name, "an object", value)


def inner(data: Json, key: str) -> Json:
    """The object `data[key]`; an empty one where it is absent."""
    value = data.get(key)
    return {} if value is None else mapping(value, key)


def items(data: Json, key: str) -> list[Any]:
    """The list `data[key]`; an empty one where it is absent."""
    value = data.get(key)
    if value is None:
        return []
    return value if isinstance(value, list) else wrong(key, "a list", value)


def string(data: Json, key: str) -> str:
    """The string `data[key]`, which must be there."""
    value = data.get(key)
    return value if isinstance(value, str) else wrong(key, "a string", value)


def maybe_string(data: Json, key: str) -> str | None:
    """The string `data[key]`, if there is one."""
    value = data.get(key)
    return value if value is None or isinstance(value, str) else wrong(key, "a string", value)


def maybe_flag(data: Json, key: str) -> bool | None:
    """The truth value `data[key]`, if there is one."""
    value = data.get(key)
    return value if value is None or isinstance(value, bool) else wrong(key, "true or false", value)


def maybe_count(data: Json, key: str) -> int | None:
    """The whole number `data[key]`, if there is one. `3.0` is one too."""
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        wrong(key, "a whole number", value)
    if not -_BIGGEST <= value < _BIGGEST:
        raise Malformed(f"{key}: the number is too big")
    return int(value)


def maybe_number(data: Json, key: str) -> float | None:
    """The number `data[key]`, if there is one."""
    value = data.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        wrong(key, "a number", value)
    if not -_BIGGEST <= value < _BIGGEST:
        raise Malformed(f"{key}: the number is too big")
    return value


def strings(value: Any, name: str) -> tuple[str, ...]:
    """One string or a list of them."""
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        wrong(name, "a string or a list of strings", value)
    return tuple(value)
