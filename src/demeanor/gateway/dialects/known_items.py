"""Remembers what the items of earlier requests were read as: every request repeats its conversation and its tools.

An item is recognised by all its bytes in `marshal`'s format, which keeps the order of fields and tells `1`, `1.0` and
`true` apart. All sessions share the memory of a module, since the trials of an agent start with the same prompt.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable
from typing import Any, TypeVar

from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.dialects.strict_json import MAX_DEPTH, check_depth

T = TypeVar("T")
J = TypeVar("J", dict[str, Any], list[Any])

_PLAIN = 2
"""The version of marshal's format without references, so that equal items have equal bytes."""

_LARGEST = 256 * 1024
_MOST = 4 * 2**20
"""Bytes of the largest item that is remembered, and of all items until the older half is forgotten."""

ABOVE_AN_ITEM, ABOVE_A_LIST = 2, 1
"""The levels above: an item is in a list, which is in the object of the body."""


class KnownItems:
    """What items were read as: those that were read recently, and those before them."""

    def __init__(self, most: int = _MOST) -> None:
        """Remembers items of at most twice `most` bytes."""
        self._most = most
        self._size = 0
        self._recent: dict[Any, Any] = {}
        self._older: dict[Any, Any] = {}

    def __len__(self) -> int:
        return len(self._recent) + len(self._older)

    def read(self, item: J, read: Callable[[J], T], *, above: int = ABOVE_AN_ITEM) -> T:
        """What `read` makes of an item, which must depend on nothing else; raises Malformed.

        A whole list can be an item, too; `above` is the number of levels above it.
        """
        try:
            data = marshal.dumps(item, _PLAIN)
        except ValueError as error:
            raise Malformed(f"item: {error}") from None
        key = (read, data)
        entry: T | None = self._recent.get(key)
        if entry is not None:
            return entry
        entry = self._older.get(key)
        if entry is None:
            entry = _read(item, read, above)
        if len(data) <= _LARGEST:
            self._remember(key, entry, len(data))
        return entry

    def _remember(self, key: Any, item: Any, size: int) -> None:
        if self._size > self._most:
            self._older, self._recent, self._size = self._recent, {}, 0
        self._recent[key] = item
        self._size += size


def _read(item: J, read: Callable[[J], T], above: int) -> T:
    try:
        check_depth(item, MAX_DEPTH - above)
    except ValueError as error:
        raise Malformed(f"item: {error}") from None
    return read(item)
