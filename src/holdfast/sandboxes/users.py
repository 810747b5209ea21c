"""Whom root lets trials run as: a user that nobody has. Never root itself, whatever walls there are."""

from __future__ import annotations

import itertools
import os
from functools import cache
from pathlib import Path

_USERS = (0x70000000, 100_000, 65_533)
"""The first of them that there is here. systemd hands out lower ones."""

_MANY = 60_000
_numbers = itertools.count(int.from_bytes(os.urandom(2), "big") % _MANY)


@cache
def spare_user() -> int:
    """A user that nobody has."""
    return next((uid for uid in _USERS if _is_here(uid)), _USERS[-1])


def own_user() -> int:
    """A user that nobody has and that was not given to another attempt, as far as this machine has so many."""
    uid = spare_user() + next(_numbers) % _MANY
    return uid if spare_user() != _USERS[-1] and _is_here(uid) else spare_user()


def give_to(folder: str, uid: int) -> None:
    """Let everything in a folder of ours belong to somebody else."""
    os.lchown(folder, uid, uid)
    for top, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.lchown(f"{top}/{name}", uid, uid)


@cache
def _ranges() -> tuple[tuple[int, int], ...]:
    lines = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    return tuple((int(first), int(count)) for first, _, count in lines)


def _is_here(uid: int) -> bool:
    return any(0 <= uid - first < count for first, count in _ranges())
