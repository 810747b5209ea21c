"""The tracked text files of a checkout, in which a prompt may be written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from demeanor.core.trees.git import git

_LARGEST_FILE = 2**20
"""Larger files are left out: they do not contain a prompt that a person wrote."""


def tracked_text_files(tree: Path, *, leave_out: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """Yield the path and content of each tracked text file, except those to leave out. Raises GitError."""
    for path in git(tree, "ls-files", "-z").split("\0"):
        place = tree / path
        if not path or leave_out(path) or place.is_symlink() or not place.is_file():
            continue
        if place.stat().st_size > _LARGEST_FILE:
            continue
        content = place.read_bytes()
        if b"\0" not in content:
            yield path, content.decode("utf-8", "replace")
