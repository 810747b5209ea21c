"""Chooses files by Harbor's patterns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase


def not_excluded(exclude: Sequence[str]) -> Callable[[str, bool], bool]:
    """Like `tar --exclude`: a pattern matches a path, its end after any slash, or a folder that contains it."""

    def accepts(name: str, folder: bool) -> bool:
        parts = name.split("/")
        return not any(
            fnmatchcase("/".join(parts[start:stop]), pattern.removeprefix("./").rstrip("/"))
            for pattern in exclude
            for start in range(len(parts))
            for stop in range(start + 1, len(parts) + 1)
        )

    return accepts


def filtered(
    include: Sequence[str] | None, exclude: Sequence[str] | None, protect: Sequence[str] | None
) -> Callable[[str, bool], bool]:
    """Files that match `include` (all if it is None) and not `exclude`; the files in `protect` in any case."""

    def accepts(name: str, folder: bool) -> bool:
        if folder or name in (protect or ()):
            return True
        chosen = include is None or any(fnmatchcase(name, pattern) for pattern in include)
        return chosen and not any(fnmatchcase(name, pattern) for pattern in exclude or ())

    return accepts
