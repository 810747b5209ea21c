"""Content inside an address: how OpenAI's dialects send pictures and files."""

from __future__ import annotations

import re

_INLINE = re.compile(r"data:([\w.+/-]+);base64,([A-Za-z0-9+/=_-]*)", re.ASCII)


def split(url: str | None) -> tuple[str, str] | None:
    """Media type and base64 content; None where the address is no such thing."""
    found = _INLINE.fullmatch(url or "")
    return (found[1], found[2]) if found else None


def join(media_type: str, data: str) -> str:
    """The address that holds the content."""
    return f"data:{media_type};base64,{data}"
