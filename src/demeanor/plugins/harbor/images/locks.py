"""Locks on files and folders of the cache.

A lock is held by an open file descriptor: the kernel releases it when its process ends, however it ends.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from demeanor.plugins.harbor.images.layer import remove_tree


@contextmanager
def in_use(path: Path) -> Iterator[None]:
    """Mark a file or folder as used; raises OSError if it does not exist."""
    handle = _locked(path)
    try:
        yield
    finally:
        os.close(handle)


def _locked(path: Path) -> int:
    handle = os.open(path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_SH)
    return handle


@contextmanager
def unused(path: Path) -> Iterator[bool]:
    """Whether nothing uses a file or folder; nothing can begin to in the block."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        yield False
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        free = False
    else:
        free = True
    try:
        yield free
    finally:
        os.close(handle)


@contextmanager
def new_file(path: Path) -> Iterator[None]:
    """Create a file, which is in use in the block. Its folder is in use until it is locked, so that no process that
    finds the folder `unused` takes it for one that was left behind.
    """
    with in_use(path.parent):
        path.touch()
        handle = _locked(path)
    try:
        yield
    finally:
        os.close(handle)


@contextmanager
def temporary_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Create a folder in the same way. It is removed at the end, unless it was renamed."""
    with in_use(parent):
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        handle = _locked(folder)
    try:
        folder.chmod(0o755)
        yield folder
    finally:
        if folder.exists():
            remove_tree(folder)
        os.close(handle)
