"""Whom root lets trials run as: a user that nobody has. Never root itself, whatever walls there are."""

from __future__ import annotations

import itertools
import os
from functools import cache
from pathlib import Path

from demeanor.core.errors import WorldError
from demeanor.core.verdict import VoidCause

_USERS = (0x70000000, 100_000, 65_533)
"""The first of them that there is here. systemd hands out lower ones."""

_MANY = 60_000

MANY = 65_536
"""How many users a container usually has."""

_RANGES, _SLOTS = 0x71000000, 512
_numbers = itertools.count(int.from_bytes(os.urandom(2), "big") % _MANY)


@cache
def spare_user() -> int | None:
    """A user that nobody has; None where we are no root whose rights could be given up.

    Root of a user namespace may be an ordinary user outside, for whom nobody else is there to become.
    """
    if os.getuid() != 0:
        return None
    found = next((uid for uid in _USERS if _is_here(uid)), None)
    if found is None and any(first == 0 == outside for first, outside, _ in _ranges()):
        raise WorldError(VoidCause.SANDBOX, "we are root, and in this user namespace there is nobody else to become")
    return found


def own_user() -> int:
    """A user that nobody has and that was not given to another attempt, as far as there are so many; else ourselves."""
    spare = spare_user()
    if spare is None:
        return os.getuid()
    uid = spare + next(_numbers) % _MANY
    return uid if spare != _USERS[-1] and _is_here(uid) else spare


def many_users() -> int | None:
    """The first of many users in a row that nobody has, others each time; None where we are no root, or where there are
    not so many.
    """
    first = _RANGES + next(_numbers) % _SLOTS * MANY
    return first if os.getuid() == 0 and _is_here(first) and _is_here(first + MANY - 1) else None


def give_to(folder: str, uid: int) -> None:
    """Let everything in a folder of ours belong to somebody else."""
    os.lchown(folder, uid, uid)
    for top, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.lchown(f"{top}/{name}", uid, uid)


@cache
def _ranges() -> tuple[tuple[int, int, int], ...]:
    """The users there are: the first one here, who that is outside, and how many follow."""
    lines = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    return tuple((int(first), int(outside), int(count)) for first, outside, count in lines)


def _is_here(uid: int) -> bool:
    return any(0 <= uid - first < count for first, _, count in _ranges())
