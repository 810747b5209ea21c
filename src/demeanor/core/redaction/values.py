"""Redact whole values: the data of an attempt, before it is stored.

A conversation is repeated in each request, and most of a workspace is unchanged. So every value is visited once, all
texts are searched together, and values without secrets are not rebuilt.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar

from demeanor.core.redaction.encodings import SHORTEST
from demeanor.core.redaction.git_files import MAX_BYTES, TooMuchToSearch, git_objects
from demeanor.core.redaction.redactor import Redactor
from demeanor.core.trees.tree import Entry, Tree

T = TypeVar("T")

_WITHOUT_TEXT = frozenset({int, float, bool, type(None)})


class Cleaner:
    """Redacts the data of attempts. One instance serves a whole run, so that unchanged files are searched once."""

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
        self._clean: dict[int, tuple[Entry, Entry]] = {}

    def clean(self, value: T, redactor: Redactor, before: Tree, after: Tree, *, whole: bool) -> T:
        """`value` without secrets. Files that the agent did not change are searched only if the `whole` is stored."""
        same = {id(entry): entry for path, entry in before.entries.items() if after.entries.get(path) is entry}
        made = {key: self._known(entry) if whole else (entry, entry) for key, entry in same.items()}
        return redacted(value, redactor, made)

    def _known(self, entry: Entry) -> tuple[Entry, Entry]:
        if id(entry) not in self._clean:
            self._clean[id(entry)] = (entry, redacted(entry, self.redactor))
        return self._clean[id(entry)]


def redacted(value: T, redactor: Redactor, made: Mapping[int, tuple[Entry, Entry]] | None = None) -> T:
    """`value` without secrets; the same object if there are none. `made` maps ids to known old and new entries."""
    made = made or {}
    search = _Search(made)
    search.walk(value)
    dirty = any(old is not new for old, new in made.values())
    if not dirty and not search.too_large and not redactor.spans(search.all()):
        return value
    rebuilt: T = _Rebuild(redactor, made).made(value)
    return rebuilt


def why_withheld(content: bytes, redactor: Redactor) -> str | None:
    """Why a file can't be stored, even with its secrets replaced: its git objects contain one. None if it can be."""
    try:
        spans = redactor.spans(b"\n".join(git_objects(content)))
    except TooMuchToSearch:
        return f"it unpacks to more than {MAX_BYTES >> 20} MiB, which is too much to search for secrets"
    return f"a git object in it contains a secret ({spans[0][2]})" if spans else None


def all_of(*values: object) -> bytes:
    """All texts and file contents in some values."""
    search = _Search({})
    for value in values:
        search.walk(value)
    return search.all()


class _Search:
    """Collects texts and contents, each once."""

    def __init__(self, seen: Mapping[int, object]) -> None:
        self.texts: list[str] = []
        self.contents: list[bytes] = []
        self.too_large = False
        self._seen = set(seen)

    def all(self) -> bytes:
        """Everything collected, in one piece."""
        return b"\n".join(["\n".join(self.texts).encode("utf-8", "surrogatepass"), *self.contents])

    def walk(self, value: Any) -> None:
        """Collect the texts and contents of a value."""
        kind: Any = type(value)
        if kind is str:
            if len(value) >= SHORTEST:
                self.texts.append(value)
        elif kind in _WITHOUT_TEXT:
            pass
        elif kind is bytes:
            self.contents.append(value)
        elif kind is tuple or kind is list:
            self._walk_all(value)
        elif kind is dict or isinstance(value, Mapping):
            self._walk_all(value)
            self._walk_all(value.values())
        elif (items := _items(kind)) and id(value) not in self._seen:
            self._seen.add(id(value))
            if kind is Entry:
                self._entry(value)
            elif kind is Tree:
                self._tree(value)
            else:
                self._walk_all(items(value))

    def _walk_all(self, values: Iterable[Any]) -> None:
        """Most values are numbers or short texts; a call for each of them would take most of the time."""
        for value in values:
            kind = type(value)
            if kind is str:
                if len(value) >= SHORTEST:
                    self.texts.append(value)
            elif kind not in _WITHOUT_TEXT:
                self.walk(value)

    def _entry(self, entry: Entry) -> None:
        content = entry.read()
        if content is not None:
            self.contents.append(content)
            try:
                self.contents += git_objects(content)
            except TooMuchToSearch:
                self.too_large = True
        self.walk(entry.target)

    def _tree(self, tree: Tree) -> None:
        self.walk(tree.gaps)
        self.walk(tree.attributes)
        for path, entry in tree.entries.items():
            if id(entry) not in self._seen:
                self.walk(path)
                self.walk(entry)


class _Rebuild:
    """Rebuilds values, each once, so that shared values stay shared."""

    def __init__(self, redactor: Redactor, made: Mapping[int, tuple[Any, Any]]) -> None:
        self._redactor = redactor
        self._made: dict[int, tuple[Any, Any]] = dict(made)

    def made(self, value: Any) -> Any:
        """A value without secrets; the same object if there are none."""
        kind: Any = type(value)
        if kind is str:
            return self._redactor.text(value) if len(value) >= SHORTEST else value
        if kind is bytes:
            return self._redactor.data(value)
        if kind is tuple or kind is list:
            items = kind(self.made(item) for item in value)
            return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
        if isinstance(value, Mapping):
            return {self.made(key): self.made(item) for key, item in value.items()}
        names = _fields(kind)
        if not names:
            return value
        if id(value) not in self._made:
            changed = self._entry(value) if kind is Entry else self._fresh(value, names)
            self._made[id(value)] = (value, changed)
        return self._made[id(value)][1]

    def _fresh(self, value: Any, names: tuple[str, ...]) -> Any:
        changed = {name: self.made(getattr(value, name)) for name in names}
        if all(changed[name] is getattr(value, name) for name in names):
            return value
        return dataclasses.replace(value, **changed)

    def _entry(self, entry: Entry) -> Entry:
        content = entry.read()
        target = None if entry.target is None else self._redactor.text(entry.target)
        if content is not None and why_withheld(content, self._redactor):
            return dataclasses.replace(entry, content=None, sha256="", target=target)
        clean = None if content is None else self._redactor.data(content)
        if clean is content or clean is None:
            return dataclasses.replace(entry, target=target)
        digest = hashlib.sha256(clean).hexdigest()
        return dataclasses.replace(entry, content=clean, size=len(clean), sha256=digest, target=target)


@cache
def _items(kind: Any) -> Callable[[Any], tuple[Any, ...]] | None:
    """Reads all fields of a dataclass at once; None for other types."""
    names = _fields(kind)
    if len(names) == 1:
        return lambda value: (getattr(value, names[0]),)
    return attrgetter(*names) if names else None


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    """The fields of a dataclass; empty for other types."""
    return tuple(field.name for field in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else ()
