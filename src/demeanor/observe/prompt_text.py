"""The system prompt and the tools of an agent as one text, for comparison."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from demeanor.core.text.instructions import with_placeholders
from demeanor.core.text.unordered import sort_enums, sort_sets
from demeanor.core.values.exchange import Request


def prompt_text(request: Request, facts: Mapping[str, str]) -> str:
    """The text, with placeholders for the sandbox's paths, dates and ids, and sets in alphabetical order."""
    return with_placeholders(sort_sets("\n".join(_lines(request))), facts)


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
