"""Which files of a folder Harbor wants, by its patterns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase


def not_excluded(exclude: Sequence[str]) -> Callable[[str, bool], bool]:
    """As `tar --exclude`: a pattern fits a whole path, or its end after any slash; with a folder goes what is in it."""

    def wanted(name: str, folder: bool) -> bool:
        parts = name.split("/")
        return not any(
            fnmatchcase("/".join(parts[start:stop]), pattern.removeprefix("./").rstrip("/"))
            for pattern in exclude
            for start in range(len(parts))
            for stop in range(start + 1, len(parts) + 1)
        )

    return wanted


def filtered(
    include: Sequence[str] | None, exclude: Sequence[str] | None, protect: Sequence[str] | None
) -> Callable[[str, bool], bool]:
    """Files that fit `include` (all, where there is none) and not `exclude`; those of `protect` in any case."""

    def wanted(name: str, folder: bool) -> bool:
        if folder or name in (protect or ()):
            return True
        chosen = include is None or any(fnmatchcase(name, pattern) for pattern in include)
        return chosen and not any(fnmatchcase(name, pattern) for pattern in exclude or ())

    return wanted
