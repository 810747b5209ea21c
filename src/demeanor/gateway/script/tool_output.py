"""Extracts the output of a tool from what an agent wraps around it: JSON, tags, line numbers."""

from __future__ import annotations

import json
import re
from typing import Any

_LINE_NUMBER = re.compile(r"\s*\d+(?:\t|→|: | ?\| )")
_COMMAND_HEADER = re.compile(r"\AChunk ID: \w+\n(?:[A-Z][^\n]*\n){0,6}?Output:\n")
"""What one agent prints before the output of a command."""
_REPORTS = frozenset({"returncode", "success", "lines_read"})
"""Keys of an agent's own report; other JSON is the content of a file."""
_CONTENT_TAG = re.compile(r"<content>\n(.*?)\n*(?:\n\([^\n]*\)\n)?</content>", re.S)


def unwrap(text: str) -> str:
    """The output of a file-reading tool or a shell."""
    inner = _in_json(text)
    if tagged := _CONTENT_TAG.search(inner):
        inner = tagged[1] + "\n"
    lines = _COMMAND_HEADER.sub("", inner).splitlines(keepends=True)
    return (
        "".join(_LINE_NUMBER.sub("", line, count=1) for line in lines)
        if all(map(_LINE_NUMBER.match, lines))
        else "".join(lines)
    )


def _in_json(text: str) -> str:
    """The output in an agent's report: `{"returncode": 0, "output": …}`, `[{"result": …, "success": true}]`, …"""
    try:
        document: Any = json.loads(text) if text[:1] in {"{", "["} else None
    except (ValueError, RecursionError):
        return text
    if isinstance(document, list) and len(document) == 1:
        document = document[0]
    if not isinstance(document, dict) or not document.keys() & _REPORTS:
        return text
    output = next((document[key] for key in ("output", "result", "content") if key in document), None)
    return output if isinstance(output, str) else text
