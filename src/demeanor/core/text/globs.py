"""Glob patterns over a workspace's paths: `*` stays within a folder, `**` crosses folders.

`[ab]` matches one of these characters, and also itself: `app/[id]/page.tsx` is a common name of a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

_FEW = 2
"""With more wildcards, a regular expression could take the length of a path to the power of their number."""


def matches(path: str, pattern: str) -> bool:
    """Whether a relative path matches a pattern such as `*.py`, `src/**` or `docs/**/*.md`."""
    compiled = _compiled(pattern)
    return compiled.fullmatch(path) is not None if compiled else _walk(path, pattern)


def as_regex(pattern: str) -> str:
    """The regular expression (with re.DOTALL) that a whole path must match."""
    parts = (_alternatives(piece) for piece in _pieces(pattern))
    return "".join(part[0] if len(part) == 1 else f"(?:{'|'.join(part)})" for part in parts)


@cache
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """The regular expression of a pattern with few wildcards; None for others."""
    few = sum(piece in _MANY for piece in _pieces(pattern)) <= _FEW
    return re.compile(as_regex(pattern), re.DOTALL) if few else None


@cache
def _pieces(pattern: str) -> tuple[str, ...]:
    pattern = pattern.removeprefix("./")
    return tuple(_PIECES.findall(pattern + "**" if pattern.endswith("/") else pattern))


def _walk(path: str, pattern: str) -> bool:
    """Whether a path matches, in linear time: follow all the places that the pieces so far can reach."""
    reached = {0}
    for piece in _pieces(pattern):
        if not reached:
            return False
        if piece == "**/":
            reached = set(_after_folders(path, reached))
        elif piece in _MANY:
            reached = set(_after_text(path, reached, "" if piece == "**" else "/"))
        else:
            reached = {match.end() for at in reached for part in _parts(piece) if (match := part.match(path, at))}
    return len(path) in reached


def _after_text(path: str, starts: set[int], but: str) -> Iterator[int]:
    """Where a text of any length can end that begins at one of `starts` and has no character `but`."""
    inside = False
    for at in range(min(starts), len(path) + 1):
        inside = at in starts or (inside and path[at - 1] != but)
        if inside:
            yield at


def _after_folders(path: str, starts: set[int]) -> Iterator[int]:
    """Where any number of whole folders can end that begin at one of `starts`."""
    yield from starts
    inside, ended = False, False
    for at, character in enumerate(path):
        if character != "/":
            inside = inside or ended or at in starts
            ended = False
        else:
            inside, ended = False, inside
            if ended:
                yield at + 1


@cache
def _parts(piece: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(alternative, re.DOTALL) for alternative in _alternatives(piece))


_PIECES = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]/]*\]|.", re.DOTALL)
_MANY = {"**/": r"(?:[^/]+/)*", "**": r".*", "*": r"[^/]*"}


def _alternatives(piece: str) -> tuple[str, ...]:
    """The regular expressions of a piece; one of them must match."""
    if piece in _MANY:
        return (_MANY[piece],)
    if piece == "?":
        return ("[^/]",)
    if piece.startswith("[") and len(piece) > 1:
        inside = piece[1:-1].replace("\\", r"\\").replace("[", r"\[")
        pattern = f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside}]"
        return (f"(?!/){pattern}", re.escape(piece))
    return (re.escape(piece),)
