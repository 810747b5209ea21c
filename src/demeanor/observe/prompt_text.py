"""The system prompt and the tools of an agent as one text, for comparison."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from demeanor.core.exchange import Request
from demeanor.core.unordered import sort_enums, sort_sets

_DATES = re.compile(
    r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b"
    r"|\b\d{1,2}/\d{1,2}/\d{4}\b"
    r"|\b(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day,? )?"
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December)"
    r" \d{1,2}(?:st|nd|rd|th)?,? \d{4}\b"
)
_IDS = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE)


def prompt_text(request: Request, facts: Mapping[str, str]) -> str:
    """The text, with placeholders for the sandbox's paths, dates and ids, and sets in alphabetical order."""
    text = sort_sets("\n".join(_lines(request)))
    for name in ("workspace", "home"):
        if facts.get(name):
            text = text.replace(facts[name], f"<{name}>")
            as_folder = re.sub(r"[^A-Za-z0-9]", "-", facts[name])  # agents name folders after it
            text = text.replace(as_folder, f"<{name}>")
    return _IDS.sub("<id>", _DATES.sub("<date>", text))


def _lines(request: Request) -> Iterator[str]:
    yield "# System prompt\n"
    yield request.system.rstrip() or "(none)"
    yield "\n# Tools"
    if not request.tools:
        yield "\n(none)"
    for tool in request.tools:
        yield f"\n## {tool.name}\n"
        yield tool.description.rstrip() or "(no description)"
        schema = json.dumps(sort_enums(tool.schema), indent=2, sort_keys=True, ensure_ascii=False)
        yield f"\n```json\n{schema}\n```"
    yield ""
