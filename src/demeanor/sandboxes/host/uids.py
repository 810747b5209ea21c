"""Unused user ids: when Demeanor runs as root, trials run as one of these, never as root."""

from __future__ import annotations

import itertools
import os
from functools import cache
from pathlib import Path

from demeanor.core.values.errors import WorldError
from demeanor.core.values.verdict import VoidCause

_CANDIDATES = (0x70000000, 100_000, 65_533)
"""The first of these that is mapped in our user namespace is used. systemd hands out lower ones."""

_ATTEMPT_UIDS = 60_000

RANGE_SIZE = 65_536
"""How many users a container usually has."""

_FIRST_RANGE, _RANGES = 0x71000000, 512
_numbers = itertools.count(int.from_bytes(os.urandom(2), "big") % _ATTEMPT_UIDS)


@cache
def unused_uid() -> int | None:
    """A uid that no user has; None when we are not root, or not root outside of our user namespace.

    Root of a user namespace may be an ordinary user outside, with no other user mapped.
    """
    if os.getuid() != 0:
        return None
    uid = next((uid for uid in _CANDIDATES if _is_mapped(uid)), None)
    if uid is None and any(first == 0 == outside for first, outside, _ in _mappings()):
        raise WorldError(
            VoidCause.SANDBOX, "Demeanor runs as root, in a user namespace with no other user to switch to"
        )
    return uid


def attempt_uid() -> int:
    """A uid that no user and no other running attempt has, as far as there are enough; our own when we are not root."""
    first = unused_uid()
    if first is None:
        return os.getuid()
    uid = first + next(_numbers) % _ATTEMPT_UIDS
    return uid if first != _CANDIDATES[-1] and _is_mapped(uid) else first


def unused_uid_range() -> int | None:
    """The first of `RANGE_SIZE` uids that no user has, a new range each time; None when we are not root, or when so
    many are not mapped.
    """
    first = _FIRST_RANGE + next(_numbers) % _RANGES * RANGE_SIZE
    return first if os.getuid() == 0 and _is_mapped(first) and _is_mapped(first + RANGE_SIZE - 1) else None


def chown_tree(folder: str, uid: int) -> None:
    """Change the owner of a folder and everything in it."""
    os.lchown(folder, uid, uid)
    for top, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.lchown(f"{top}/{name}", uid, uid)


@cache
def _mappings() -> tuple[tuple[int, int, int], ...]:
    """The rows of /proc/self/uid_map: the first uid here, the first uid outside, and the count."""
    lines = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    return tuple((int(first), int(outside), int(count)) for first, outside, count in lines)


def _is_mapped(uid: int) -> bool:
    return any(0 <= uid - first < count for first, _, count in _mappings())
