"""A strict reader for tables of TOML, JSON or keyword arguments. A mistake is a BadInput with file, key and value."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn, TypeVar

from demeanor.core.text.wording import shortened
from demeanor.core.values.errors import BadInput, did_you_mean, nearest

T = TypeVar("T")
LARGEST = 10**9
"""The default upper bound of whole numbers."""
SIZE_PATTERN = r"(\d+(?:\.\d+)?) ?(B|KiB|MiB|GiB|kB|MB|GB)"
"""A size, such as `512 MiB`."""
_UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "kB": 10**3, "MB": 10**6, "GB": 10**9}
_LEAST_SIZE = 2**16
_NAMES: Mapping[type, str] = {
    bool: "true or false",
    str: "a string",
    int: "a whole number",
    float: "a number",
    dict: "a table",
    list: "a list",
}


class Table:
    """A table that is being read. The getters record which keys are known; `finish` rejects all other keys.

    `unbuilt` says that the project may still have to be built, so that files in it may be missing.
    """

    def __init__(self, data: Any, *, where: Path | str, prefix: str = "", unbuilt: bool = False) -> None:
        self.where = where
        self.prefix = prefix
        self.unbuilt = unbuilt
        if not isinstance(data, Mapping):
            raise BadInput(f"expected a table, found {describe(data)}", where=where, key=prefix.rstrip(".") or None)
        self._data: Mapping[str, Any] = data
        self._known: dict[str, None] = {}
        self.stand_in = ""
        """A key that is not in the file: its value only lets a reader read on."""

    @property
    def data(self) -> Mapping[str, Any]:
        """The whole table, unchecked."""
        return self._data

    @property
    def known(self) -> tuple[str, ...]:
        """The keys that a getter has asked for."""
        return tuple(self._known)

    @property
    def unread(self) -> tuple[str, ...]:
        """The keys that no getter has asked for yet."""
        return tuple(key for key in self._data if key not in self._known)

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def fail(self, key: str, problem: str, remedy: str | None = None) -> NoReturn:
        """Raise a BadInput about the value of `key`; a similar key that nobody has asked for may stand in its place."""
        close = nearest(key, [k for k in self._data if k not in self._known]) if problem == "is required" else None
        remedy = f"did you mean to write {key!r} instead of {close!r}?" if close else remedy
        raise BadInput(problem, where=self.where, key=self.prefix + key, remedy=remedy)

    def take(
        self, key: str, kind: type[T], default: T | None = None, *, required: bool = False, example: str | None = None
    ) -> T | None:
        """The value of `key`, which must be of type `kind`; `default` if the key is absent.

        `example` is shown when a required key is missing. A list may be given as any sequence or set.
        """
        self._known[key] = None
        if key not in self._data:
            if required:
                self.fail(key, "is required", f"for example: {example}" if example else None)
            return default
        value = _normalised(self._data[key], kind)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.fail(key, f"expected {_NAMES.get(kind, kind.__name__)}, found {describe(value)}")
        return value

    def anything(self, key: str) -> Any:
        """The value of `key` without any check; None if the key is absent."""
        self._known[key] = None
        return self._data.get(key)

    def text(self, key: str, default: str = "", *, required: bool = False, example: str | None = None) -> str:
        """A string."""
        return self.take(key, str, default, required=required, example=example) or ""

    def maybe_text(self, key: str) -> str | None:
        """A string, or None if the key is absent."""
        return self.take(key, str)

    def flag(self, key: str, *, default: bool = False) -> bool:
        """True or false."""
        return bool(self.take(key, bool, default))

    def number(self, key: str, *, least: float, most: float = float("inf")) -> float | None:
        """A number within bounds, or None if the key is absent."""
        value = self.take(key, float)
        if value is not None and not least <= value <= most:
            bounds = f"of at least {least:g}" if most == float("inf") else f"from {least:g} to {most:g}"
            self.fail(key, f"expected a number {bounds}, found {value:g}")
        return value

    def whole(self, key: str, *, least: int, most: int = LARGEST) -> int | None:
        """An integer within bounds, or None if the key is absent."""
        value = self.take(key, int)
        if value is not None and not least <= value <= most:
            bounds = f"of at least {least}" if most == LARGEST and value < least else f"from {least} to {most}"
            self.fail(key, f"expected a whole number {bounds}, found {value}")
        return value

    def whole_or_text(self, key: str, *, least: int, most: int) -> str:
        """A string, or an integer within bounds as a string; empty if the key is absent."""
        if isinstance(self.anything(key), str):
            return self.text(key)
        return str(self.whole(key, least=least, most=most) or "")

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; empty if the key is absent."""
        if isinstance(single := self.anything(key), str):
            remedy = f"make it a list: [{json.dumps(single, ensure_ascii=False)}]"
            self.fail(key, f"expected a list of strings, found {describe(single)}", remedy)
        values: list[Any] = self.take(key, list, []) or []
        for index, value in enumerate(values):
            if not isinstance(value, str):
                self.fail(f"{key}[{index}]", f"expected a string, found {describe(value)}")
        return tuple(values)

    def command(self, key: str) -> tuple[str, ...]:
        """A program with its arguments: a list of strings, or one that is split as a shell would; empty if absent."""
        line = self.anything(key)
        if not isinstance(line, str):
            return self.texts(key)
        try:
            return tuple(shlex.split(line))
        except ValueError as error:
            self.fail(key, f"{line!r} can't be split into words: {error}", "close the quote, or write a list of words")

    def maybe_texts(self, key: str) -> tuple[str, ...] | None:
        """A list of strings; None if the value is something else, for a key that has two forms."""
        return self.texts(key) if isinstance(self.anything(key), list) else None

    def words(self, key: str) -> tuple[str, ...]:
        """A program with its arguments: a list of strings, or one string; empty if the key is absent."""
        single = self.anything(key)
        words = (single,) if isinstance(single, str) else self.texts(key)
        if key in self._data and not all(words or [""]):
            self.fail(key, f"expected a program, found {describe(single)}", f'for example: {key} = ["node", "cli.js"]')
        return words

    def size(self, key: str, default: int) -> int:
        """A size in bytes, written as a number with a unit."""
        text = self.maybe_text(key)
        if text is None:
            return default
        match = re.fullmatch(SIZE_PATTERN, text)
        size = int(float(match[1]) * _UNITS[match[2]]) if match else 0
        if size < _LEAST_SIZE:
            remedy = 'write a number and a unit: "512 MiB", "2 GiB"'
            self.fail(key, f"{text!r} is not a size of at least 64 KiB", remedy)
        return size

    def mapping(self, key: str) -> dict[str, Any]:
        """A table whose values are not checked; empty if the key is absent."""
        data: dict[Any, Any] = self.take(key, dict, {}) or {}
        for name in data:
            if not isinstance(name, str):
                self.fail(key, f"expected strings as keys, found {describe(name)}")
        return dict(data)

    def strings(self, key: str) -> dict[str, str]:
        """A table of strings; empty if the key is absent."""
        texts = self.mapping(key)
        for name, value in texts.items():
            if not isinstance(value, str):
                self.fail(f"{key}.{name}", f"expected a string, found {describe(value)}")
        return texts

    def table(self, key: str) -> Table | None:
        """A nested table; None if the key is absent."""
        value = self.take(key, dict)
        return None if value is None else self.nested(value, key)

    def named(self, key: str, read: Callable[[Table], T]) -> dict[str, T]:
        """A table of tables, each under a name of the user's choice; empty if the key is absent."""
        own = self.table(key)
        if own is None:
            return {}
        tables = {name: read(table) for name in self.mapping(key) if (table := own.table(name)) is not None}
        own.finish()
        return tables

    def section(self, key: str) -> Table:
        """A nested table, empty if the key is absent, for a `with` block. At its end unknown keys are rejected."""
        return self.table(key) or self.nested({}, key)

    def __enter__(self) -> Table:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if kind is None:
            self.finish()

    def tables(self, key: str) -> list[Table]:
        """A list of nested tables; empty if the key is absent."""
        values: list[Any] = self.take(key, list, []) or []
        return [self.nested(value, f"{key}[{index}]") for index, value in enumerate(values)]

    def nested(self, data: Any, key: str) -> Table:
        """`data`, found under `key`, as a table with this one's file and prefix."""
        return Table(data, where=self.where, prefix=f"{self.prefix}{key}.")

    def choice(self, key: str, choices: Sequence[str], default: str | None = None) -> str | None:
        """One of `choices`."""
        value = self.take(key, str, default)
        if key == self.stand_in:
            return choices[0]
        if value is not None and value not in choices:
            remedy = did_you_mean(value, choices, f"expected one of: {', '.join(choices)}")
            self.fail(key, f"unknown value {value!r}", remedy)
        return value

    def relative_path(self, key: str) -> str:
        """A relative path that stays inside the workspace."""
        value = self.text(key, required=True)
        problem = path_problem(value)
        if problem:
            self.fail(key, problem, "write a path relative to the workspace, such as 'src/app.py'")
        return value

    def finish(self) -> None:
        """Reject every key that no getter has asked for."""
        for key in self._data:
            if key not in self._known:
                remedy = did_you_mean(key, self._known, f"known keys: {', '.join(self._known)}")
                self.fail(key, "unknown key", remedy)


_FILLERS: tuple[Any, ...] = ("https://x/{prompt}", "x", ["x"], {}, 1)
"""A value of each type, to read on where a key is missing."""


def read_whole(table: Table, read: Callable[[Table], T]) -> T:
    """What `read` reads, to the last key. Where a key is missing, an unknown one is the error: it was meant."""
    asked = table.known
    try:
        value = read(table)
        table.finish()
    except BadInput as missing:
        key = (missing.key or "").removeprefix(table.prefix)
        if key and key not in table and table.unread:
            _reject_unknown(table, asked, key, read)
        raise
    return value


def _reject_unknown(table: Table, asked: Sequence[str], missing: str, read: Callable[[Table], object]) -> None:
    """Raise BadInput if the table has an unknown key, which shows when it is read with some value for a missing one."""
    for filler in _FILLERS:
        filled = Table({**table.data, missing: filler}, where=table.where, prefix=table.prefix, unbuilt=table.unbuilt)
        filled.stand_in = missing
        for key in asked:
            filled.anything(key)
        try:
            read_whole(filled, read)
        except BadInput as error:
            if error.problem == "unknown key":
                raise
        else:
            return


def path_problem(path: str) -> str | None:
    """Why `path` is not a valid path inside a workspace; None if it is valid."""
    pure = PurePosixPath(path)
    if not pure.parts:  # also `.` and `.//`
        return "the path is empty"
    if "\0" in path or "\\" in path:
        return f"the path {path!r} contains a character that is not allowed"
    if pure.is_absolute():
        return f"the path {path!r} is absolute"
    if ".." in pure.parts:
        return f"the path {path!r} leads out of the workspace"
    if ".git" in pure.parts:
        return f"the path {path!r} is inside .git, which Demeanor creates itself"
    return None


def describe(value: Any) -> str:
    """The type and value of something unexpected, for an error message."""
    for kind, name in _NAMES.items():
        if isinstance(value, kind):
            return f"{'a boolean' if kind is bool else name} ({shortened(repr(value), 40)})"
    return "nothing" if value is None else f"an object of type {type(value).__name__}"


def _normalised(value: Any, kind: type) -> Any:
    """`value` as a float, list or dict where that is the wanted type and nothing is lost."""
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind is list and isinstance(value, set | frozenset):
        return sorted(value, key=str)
    if kind is list and isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return list(value)
    if kind is dict and isinstance(value, Mapping):
        return dict(value)
    return value
