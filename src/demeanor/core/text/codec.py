"""Convert values to JSON and back, based on their type hints.

Values consist of frozen dataclasses, enums, tuples, mappings, unions and bytes. The members of a union of dataclasses
are distinguished by their tag: the field whose type is a Literal with one value. Decoding is strict: an unknown key, a
missing field or a wrong type is an error that names the path to it.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import types
import typing
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar, Union

T = TypeVar("T")
Writer: TypeAlias = Callable[[Any], Any]
Place: TypeAlias = tuple[Any, str | int] | None
"""Where data is: the place that holds it, and its name or number there. The path is only put together for an error."""

Reader: TypeAlias = Callable[[Any, Place], Any]

_PLAIN = frozenset({type(None), bool, int, float, str})
"""Types whose values are JSON data already."""


class DecodeError(ValueError):
    """JSON data that does not describe a value of the expected type."""


def encode(value: Any) -> Any:
    """`value` as JSON data. Fields with their default value are left out, except for tags."""
    kind: Any = type(value)
    return value if kind in _PLAIN else _writer(kind)(value)


@cache
def _writer(kind: Any) -> Writer:
    """The function that encodes values of exactly this type; every attempt is encoded several times."""
    if issubclass(kind, Enum):
        return lambda value: value.value
    if issubclass(kind, bool | int | float | str):
        return lambda value: value
    if issubclass(kind, bytes):
        return lambda value: base64.b64encode(value).decode("ascii")
    if issubclass(kind, Path):
        return lambda value: base64.b64encode(value.read_bytes()).decode("ascii")
    if issubclass(kind, Mapping):
        return lambda value: {str(key): item if type(item) in _PLAIN else encode(item) for key, item in value.items()}
    if issubclass(kind, list | tuple):
        return lambda value: [item if type(item) in _PLAIN else encode(item) for item in value]
    if dataclasses.is_dataclass(kind):
        return _write_dataclass(kind)
    raise TypeError(f"can't encode a {kind.__name__}")


def _write_dataclass(kind: Any) -> Writer:
    tag, defaults = _tag(kind), _defaults(kind)

    def write(value: Any) -> Any:
        data = {}
        for name, default in defaults:
            item = getattr(value, name)
            if name == tag or (item is not default and item != default):
                data[name] = item if type(item) in _PLAIN else encode(item)
        return data

    return write


def always_written(kind: Any) -> tuple[str, ...]:
    """The fields of a dataclass that `encode` never leaves out."""
    tag = _tag(kind)
    return tuple(name for name, default in _defaults(kind) if default is dataclasses.MISSING or name == tag)


def decode(kind: type[T], data: Any, *, at: str = "") -> T:
    """The value of type `kind` that `data` describes. Members of unions may be decoded already.

    `at` is the name of the field that the data come from, for errors.
    """
    reader: Reader = _reader(kind)  # type: ignore[arg-type]
    value: T = reader(data, (None, at) if at else None)
    return value


@cache
def _defaults(kind: Any) -> tuple[tuple[str, Any], ...]:
    defaults = []
    for field in dataclasses.fields(kind):
        default = field.default
        if field.default_factory is not dataclasses.MISSING:
            default = field.default_factory()
        defaults.append((field.name, default))
    return tuple(defaults)


@cache
def _tag(kind: Any) -> str | None:
    """The name of the dataclass's tag field, if it has one."""
    for name, hint in typing.get_type_hints(kind).items():
        if typing.get_origin(hint) is Literal and len(typing.get_args(hint)) == 1:
            return name
    return None


@cache
def _reader(kind: Any) -> Reader:
    """The function that decodes JSON data of one type."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind is Any or kind is object:
        return lambda data, at: data
    if origin in (Union, types.UnionType):
        return _read_union(args)
    if origin is Literal:
        return _read_literal(args)
    if origin is tuple:
        return _read_tuple(args)
    if origin is not None and issubclass(origin, Mapping):
        return _read_mapping(*args)
    if kind is bytes:
        return _read_bytes
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _read_enum(kind)
    if dataclasses.is_dataclass(kind):
        return _read_dataclass(kind)
    if kind is float:
        return _read_float
    if kind is int:
        return _read_int
    return lambda data, at: data if type(data) is kind else _expect(data, kind, at)


def _expect(data: Any, kind: Any, at: Place) -> Any:
    if not isinstance(data, kind) or (isinstance(data, bool) and kind is not bool):
        expected = getattr(kind, "__name__", "number")
        raise DecodeError(f"{_path(at) or 'value'}: expected {expected}, found {type(data).__name__}")
    return data


def _read_float(data: Any, at: Place) -> float:
    number = data if type(data) is float else _read_int(_expect(data, (int, float), at), at)
    if number - number != 0:
        raise DecodeError(f"{_path(at) or 'value'}: expected a finite number, found {number}")
    return float(number)


def _read_int(data: Any, at: Place) -> int:
    """No number that is stored has more than 64 bits, and a database has no room for one."""
    number = data if type(data) is int else _expect(data, int, at)
    if not -(2**63) <= number < 2**63:
        raise DecodeError(f"{_path(at) or 'value'}: expected a number of 64 bits")
    return int(number)


def _path(at: Place) -> str:
    """The path to a place: `exchanges[2].request`."""
    parts: list[str] = []
    while at is not None:
        at, part = at
        parts.append(f"[{part}]" if isinstance(part, int) else f".{part}")
    return "".join(reversed(parts)).removeprefix(".")


def _read_bytes(data: Any, at: Place) -> bytes:
    try:
        return base64.b64decode(_expect(data, str, at), validate=True)
    except binascii.Error as error:
        raise DecodeError(f"{_path(at) or 'value'}: expected base64: {error}") from None


def _read_union(args: tuple[Any, ...]) -> Reader:
    rest = [arg for arg in args if arg is not type(None) and arg is not Path]
    optional = type(None) in args
    if not rest:  # a path of this machine, which is never stored
        return lambda data, at: _expect(data, type(None), at)
    if len(rest) == 1:
        inner = _reader(rest[0])
        return lambda data, at: None if data is None and optional else inner(data, at)
    if not all(dataclasses.is_dataclass(member) for member in rest):
        return _read_by_shape(rest)
    tag = _tag(rest[0]) or ""
    by_tag = {dict(_defaults(member))[tag]: _reader(member) for member in rest}
    members = frozenset(rest)

    def read(data: Any, at: Place) -> Any:
        if (data is None and optional) or type(data) in members:
            return data
        name = _expect(data, dict, at).get(tag)
        if not isinstance(name, str) or name not in by_tag:
            raise DecodeError(f"{_path(at) or 'value'}: {name!r} is not one of {', '.join(map(str, by_tag))}")
        return by_tag[name](data, at)

    return read


def _read_by_shape(members: list[Any]) -> Reader:
    """A union of a tuple and something that is not written as a list: one type, or dataclasses with other keys."""
    lists = [_reader(member) for member in members if typing.get_origin(member) is tuple]
    others = [member for member in members if typing.get_origin(member) is not tuple]
    several = len(others) > 1
    if len(lists) != 1 or not others or (several and not all(map(dataclasses.is_dataclass, others))):
        raise TypeError(f"can't decode a union of {members}")
    other = _read_by_first_field(others) if several else _reader(others[0])
    return lambda data, at: (lists[0] if isinstance(data, list) else other)(data, at)


def _read_by_first_field(members: list[Any]) -> Reader:
    """A union of dataclasses without a tag, each of which alone has a key with the name of its first field."""
    readers = {dataclasses.fields(member)[0].name: _reader(member) for member in members}

    def read(data: Any, at: Place) -> Any:
        if type(data) in members:
            return data
        key = next((name for name in readers if name in _expect(data, dict, at)), None)
        if key is None:
            raise DecodeError(f"{_path(at) or 'value'}: expected one of the keys {', '.join(readers)}")
        return readers[key](data, at)

    return read


def _read_literal(choices: tuple[Any, ...]) -> Reader:
    def read(data: Any, at: Place) -> Any:
        if data not in choices:
            raise DecodeError(f"{_path(at) or 'value'}: {data!r} is not one of {', '.join(map(repr, choices))}")
        return data

    return read


def _read_tuple(args: tuple[Any, ...]) -> Reader:
    if len(args) == 2 and args[1] is Ellipsis:
        inner = _reader(args[0])
        return lambda data, at: tuple(inner(item, (at, i)) for i, item in enumerate(_expect(data, list, at)))
    readers = [_reader(arg) for arg in args]

    def read(data: Any, at: Place) -> Any:
        if len(_expect(data, list, at)) != len(readers):
            raise DecodeError(f"{_path(at) or 'value'}: expected {len(readers)} items, found {len(data)}")
        return tuple(reader(item, (at, i)) for i, (reader, item) in enumerate(zip(readers, data, strict=True)))

    return read


def _read_mapping(key: Any, value: Any) -> Reader:
    inner = _reader(value)

    def read(data: Any, at: Place) -> Any:
        items = _expect(data, dict, at)
        if key is int and not all(name.removeprefix("-").isdecimal() for name in items):
            raise DecodeError(
                f"{_path(at) or 'value'}: expected whole numbers as keys, found {', '.join(map(repr, items))}"
            )
        return {(int(name) if key is int else name): inner(item, (at, name)) for name, item in items.items()}

    return read


def _read_enum(kind: type[Enum]) -> Reader:
    def read(data: Any, at: Place) -> Any:
        try:
            return kind(data)
        except ValueError:
            choices = ", ".join(str(member.value) for member in kind)
            raise DecodeError(f"{_path(at) or 'value'}: {data!r} is not one of {choices}") from None

    return read


def _read_dataclass(kind: Any) -> Reader:
    hints = typing.get_type_hints(kind)
    names = [field.name for field in dataclasses.fields(kind)]
    needed = {name for name, default in _defaults(kind) if default is dataclasses.MISSING}
    readers: dict[str, Reader] = {}

    def read(data: Any, at: Place) -> Any:
        if not readers:
            readers.update({name: _reader(hints[name]) for name in names})
        fields = _expect(data, dict, at)
        for name in fields:
            if name not in readers:
                raise DecodeError(f"{_path(at) or kind.__name__}: unknown field {name!r}")
        missing = needed - fields.keys()
        if missing:
            raise DecodeError(f"{_path(at) or kind.__name__}: field {min(missing)!r} is missing")
        return kind(**{name: readers[name](item, (at, name)) for name, item in fields.items()})

    return read
