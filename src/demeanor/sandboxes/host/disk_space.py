"""The space on the disk that agents share with everything else, where they have no disk of their own."""

# pathlib is slower than the system calls, of which there may be many here.
# ruff: noqa: PTH101

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path

from demeanor.core.values.errors import WorldError
from demeanor.core.values.verdict import VoidCause

_LEAST_SPACE = 2**20
"""Bytes; a disk with less is full."""

_BLOCK = 512


def require_space(folder: Path) -> None:
    """Raise WorldError if the disk of a folder is full: agents would fail for a reason that is not theirs."""
    try:
        free = free_bytes(folder)
    except OSError as error:
        raise WorldError(VoidCause.SANDBOX, f"{folder} can't be used: {error.strerror}") from error
    if free < _LEAST_SPACE:
        raise WorldError(VoidCause.SANDBOX, f"No space left on device: the disk of {folder} is full")


def is_full(folder: Path) -> bool:
    """Whether the disk of a folder has no space for another attempt."""
    return free_bytes(folder) < _LEAST_SPACE


def require_space_after(folder: Path, before: int) -> None:
    """The same after a program has ended, with `before` bytes free at its start. A program whose files in the folder
    have at least half of these bytes has filled the disk itself."""
    with contextlib.suppress(OSError):  # the folder was moved away
        if free_bytes(folder) < _LEAST_SPACE and (own := _used_bytes(folder)) < before / 2:
            start, files = f"{before / 2**20:.0f} MiB were free at its start", f"{own / 2**20:.0f} MiB"
            why = f"the disk of {folder} became full while the agent ran ({start}, its own files have {files})"
            raise WorldError(VoidCause.SANDBOX, f"No space left on device: {why}")


def free_bytes(folder: Path) -> int:
    """The free space on the disk of a folder; raises OSError if there is none."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def space_before(folder: Path) -> int:
    """The free space for `require_space_after`; 0 if the folder was moved away."""
    with contextlib.suppress(OSError):
        return free_bytes(folder)
    return 0


def _used_bytes(folder: Path) -> int:
    """The space that a folder's files take, also in folders that the program has made inaccessible."""
    total, folders = 0, [str(folder)]
    restore: list[tuple[str, int]] = []
    for path in folders:
        mode = stat.S_IMODE(os.lstat(path).st_mode)
        readable = os.access(path, os.R_OK | os.X_OK)
        if not readable:
            os.chmod(path, 0o700)
        with os.scandir(path) as items:
            for item in items:
                if item.is_dir(follow_symlinks=False):
                    folders.append(item.path)
                else:
                    total += item.stat(follow_symlinks=False).st_blocks * _BLOCK
        if not readable:
            restore.append((path, mode))
    for path, mode in reversed(restore):
        os.chmod(path, mode)
    return total
