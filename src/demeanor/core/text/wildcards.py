"""Texts with `*` for anything, matched in linear time on text that an agent wrote."""

from __future__ import annotations


def contains(text: str, pattern: str) -> bool:
    """Whether a part of the text matches a pattern in which `*` stands for anything."""
    return _after(text, pattern.split("*"), 0) is not None


def matches_whole(text: str, pattern: str) -> bool:
    """Whether the whole text matches a pattern in which `*` stands for anything."""
    first, *rest = pattern.split("*")
    if not rest:
        return text == pattern
    last = rest.pop()
    if not text.startswith(first) or not text.endswith(last):
        return False
    end = _after(text, rest, len(first))
    return end is not None and end <= len(text) - len(last)


def _after(text: str, pieces: list[str], start: int) -> int | None:
    """Where the text continues after all pieces, each found as early as possible; None if one is missing."""
    for piece in pieces:
        at = text.find(piece, start)
        if at < 0:
            return None
        start = at + len(piece)
    return start
