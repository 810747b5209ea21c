"""Glob patterns over a workspace's paths: `*` stays within a folder, `**` crosses folders.

`[ab]` matches one of these characters, and also itself: `app/[id]/page.tsx` is a common name of a file.
"""

from __future__ import annotations

import re
from functools import cache


def matches(path: str, pattern: str) -> bool:
    """Whether a relative path matches a pattern such as `*.py`, `src/**` or `docs/**/*.md`."""
    return _compiled(pattern).fullmatch(path) is not None


def as_regex(pattern: str) -> str:
    """The regular expression (with re.DOTALL) that a whole path must match."""
    pattern = pattern.removeprefix("./")
    if pattern.endswith("/"):
        pattern += "**"
    return "".join(_translated(token) for token in _TOKENS.findall(pattern))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(as_regex(pattern), re.DOTALL)


_TOKENS = re.compile(r"\*\*/|\*\*|\*|\?|\[!?\]?[^\]/]*\]|.", re.DOTALL)
_WILD = {"**/": r"(?:[^/]+/)*", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}


def _translated(token: str) -> str:
    if token in _WILD:
        return _WILD[token]
    if token.startswith("[") and len(token) > 1:
        inside = token[1:-1].replace("\\", r"\\").replace("[", r"\[")
        one = f"[^{inside[1:]}]" if inside.startswith("!") else f"[{inside}]"
        return f"(?:(?!/){one}|{re.escape(token)})"
    return re.escape(token)
