"""HTML elements. Text is escaped unless it is Markup, and only `el` and `joined` make Markup from text."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape

from demeanor.core.text import printable

_EMPTY = frozenset({"meta", "br", "wbr", "line", "circle", "polyline", "rect"})


class Markup(str):
    """HTML that is already escaped."""

    __slots__ = ()


def el(name: str, *children: str, **attributes: str | int | float | None) -> Markup:
    """An element. Children that are plain text are escaped; `name_` is written `name`, `aria_label` `aria-label`."""
    told = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_escaped(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in _EMPTY:
        return Markup(f"<{name}{told}>" if name in {"meta", "br", "wbr"} else f"<{name}{told}/>")
    return Markup(f"<{name}{told}>{joined(*children)}</{name}>")


@lru_cache(maxsize=8192)
def _escaped(text: str) -> str:
    """Cached, because most of a page consists of the same few texts."""
    return escape(printable(text))


def joined(*children: str) -> Markup:
    """The parts, concatenated; plain text is escaped."""
    return Markup("".join(child if isinstance(child, Markup) else _escaped(child) for child in children))


def breakable(name: str) -> Markup:
    """A long name that a browser may break after `_`, `-`, `.` and `/`."""
    pieces = re.split(r"(?<=[-_./])", name)
    return joined(*(part for piece in pieces for part in (piece, el("wbr")))) if len(pieces) > 1 else joined(name)
