"""Strict reading of tables that people write (TOML, JSON): each mistake is one clear error, before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn, TypeVar

from demeanor.core.errors import BadInput, nearest

T = TypeVar("T")
_NAMES = {
    str: "a string",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a table",
    list: "a list",
}


class Table:
    """A table being read: every key is taken once, and `finish` refuses what nobody asked for."""

    def __init__(self, data: Any, *, where: Path | str, prefix: str = "") -> None:
        self.where = where
        self.prefix = prefix
        if not isinstance(data, Mapping):
            raise BadInput(f"expected a table, found {_describe(data)}", where=where, key=prefix.rstrip(".") or None)
        self._data: Mapping[str, Any] = data
        self._taken: dict[str, None] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def fail(self, key: str, problem: str, remedy: str | None = None) -> NoReturn:
        """Refuse the value of `key`."""
        raise BadInput(problem, where=self.where, key=self.prefix + key, remedy=remedy)

    def take(self, key: str, kind: type[T], default: T | None = None, *, required: bool = False) -> T | None:
        """The value of `key`, which must be of `kind`; `default` where it is absent."""
        self._taken[key] = None
        if key not in self._data:
            if required:
                close = nearest(key, [k for k in self._data if k not in self._taken])
                self.fail(
                    key,
                    "is required",
                    f"did you mean to write {key!r} instead of {close!r}?" if close else None,
                )
            return default
        value = self._data[key]
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.fail(key, f"expected {_NAMES.get(kind, kind.__name__)}, found {_describe(value)}")
        return value

    def anything(self, key: str) -> Any:
        """The value of `key`, whatever it is; None where it is absent."""
        self._taken[key] = None
        return self._data.get(key)

    def text(self, key: str, default: str = "", *, required: bool = False) -> str:
        """A string."""
        return self.take(key, str, default, required=required) or ""

    def maybe_text(self, key: str) -> str | None:
        """A string, or None where it is absent."""
        return self.take(key, str)

    def flag(self, key: str, *, default: bool = False) -> bool:
        """True or false."""
        return bool(self.take(key, bool, default))

    def number(self, key: str, *, least: float, most: float = float("inf")) -> float | None:
        """A number within bounds, or None where it is absent."""
        value = self.take(key, float)
        if value is not None and not least <= value <= most:
            self.fail(key, f"expected a number from {least:g} to {most:g}, found {value:g}")
        return value

    def whole(self, key: str, *, least: int, most: int = 10**9) -> int | None:
        """A whole number within bounds, or None where it is absent."""
        value = self.take(key, int)
        if value is not None and not least <= value <= most:
            self.fail(key, f"expected a whole number from {least} to {most}, found {value}")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; empty where it is absent."""
        values: list[Any] = self.take(key, list, []) or []
        for index, value in enumerate(values):
            if not isinstance(value, str):
                self.fail(f"{key}[{index}]", f"expected a string, found {_describe(value)}")
        return tuple(values)

    def mapping(self, key: str) -> dict[str, Any]:
        """A table as it is; empty where it is absent."""
        return dict(self.take(key, dict, {}) or {})

    def strings(self, key: str) -> dict[str, str]:
        """A table of strings; empty where it is absent."""
        found = self.mapping(key)
        for name, value in found.items():
            if not isinstance(value, str):
                self.fail(f"{key}.{name}", f"expected a string, found {_describe(value)}")
        return found

    def table(self, key: str) -> Table | None:
        """A table, to be read strictly too; None where it is absent."""
        value = self.take(key, dict)
        return None if value is None else Table(value, where=self.where, prefix=f"{self.prefix}{key}.")

    def tables(self, key: str) -> list[Table]:
        """A list of tables; empty where it is absent."""
        values: list[Any] = self.take(key, list, []) or []
        return [Table(value, where=self.where, prefix=f"{self.prefix}{key}[{i}].") for i, value in enumerate(values)]

    def choice(self, key: str, choices: Sequence[str], default: str | None = None) -> str | None:
        """One of `choices`."""
        value = self.take(key, str, default)
        if value is not None and value not in choices:
            close = nearest(value, choices)
            self.fail(
                key,
                f"unknown value {value!r}",
                f"did you mean {close!r}?" if close else f"expected one of: {', '.join(choices)}",
            )
        return value

    def relative_path(self, key: str, *, required: bool = True) -> str:
        """A path inside the workspace: relative, and never out of it."""
        value = self.text(key, required=required)
        problem = path_problem(value)
        if problem:
            self.fail(key, problem, "write a path relative to the workspace, such as 'src/app.py'")
        return value

    def finish(self) -> None:
        """Refuse every key that nobody asked for."""
        for key in self._data:
            if key not in self._taken:
                close = nearest(key, self._taken)
                remedy = f"did you mean {close!r}?" if close else f"known keys: {', '.join(self._taken)}"
                self.fail(key, "unknown key", remedy)


def path_problem(path: str) -> str | None:
    """Why `path` can't be a path inside a workspace, or None if it can."""
    pure = PurePosixPath(path)
    if not path or path in {".", "./"}:
        return "the path is empty"
    if "\0" in path or "\\" in path:
        return f"the path {path!r} holds a character that is not allowed"
    if pure.is_absolute():
        return f"the path {path!r} is absolute"
    if ".." in pure.parts:
        return f"the path {path!r} leads out of the workspace"
    if ".git" in pure.parts:
        return f"the path {path!r} lies in .git, which Demeanor makes itself"
    return None


def _describe(value: Any) -> str:
    for kind in (bool, str, int, float, dict, list):
        if isinstance(value, kind):
            shown = repr(value)
            return f"{_NAMES[kind]} ({shown if len(shown) <= 40 else shown[:39] + '…'})"
    return "nothing" if value is None else type(value).__name__
