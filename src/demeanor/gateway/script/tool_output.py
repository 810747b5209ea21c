"""What a tool really said, without what its agent puts around it: JSON, tags, line numbers."""

from __future__ import annotations

import json
import re
from typing import Any

_NUMBER = re.compile(r"\s*\d+(?:\t|→|: | ?\| )")
_HEAD = re.compile(r"\AChunk ID: \w+\n(?:[A-Z][^\n]*\n){0,6}?Output:\n")
"""What one agent tells of a command before its output."""
_TAGGED = re.compile(r"<content>\n(.*?)\n*(?:\n\([^\n]*\)\n)?</content>", re.S)


def bare(text: str) -> str:
    """The text that a reading tool or a shell gave."""
    inner = _in_json(text)
    if tagged := _TAGGED.search(inner):
        inner = tagged[1] + "\n"
    lines = _HEAD.sub("", inner).splitlines(keepends=True)
    return (
        "".join(_NUMBER.sub("", line, count=1) for line in lines) if all(map(_NUMBER.match, lines)) else "".join(lines)
    )


def _in_json(text: str) -> str:
    """The one text that is meant in `{"returncode": 0, "output": …}` or `[{"result": …, "success": true}]`."""
    try:
        found: Any = json.loads(text) if text[:1] in {"{", "["} else None
    except (ValueError, RecursionError):
        return text
    if isinstance(found, list) and len(found) == 1:
        found = found[0]
    if not isinstance(found, dict) or not found.keys() & {"returncode", "success"}:
        return text
    said = found.get("output", found.get("result"))
    return said if isinstance(said, str) else text
