"""The stream of JSON lines that Claude Code prints, and others after its example."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from demeanor.agents.jsonl import json_lines, rows, table, text
from demeanor.agents.log_builder import LogBuilder
from demeanor.core.process import ProcessEnd
from demeanor.core.trajectory import Event, Kind


def read_stream_json(ends: Iterable[ProcessEnd], kinds: Mapping[str, Kind]) -> tuple[Event, ...]:
    """Lines of an `assistant` in a row are parts of one answer; lines of a `user` hold results of tools."""
    story = LogBuilder(kinds)
    answered = True
    for line in json_lines(ends):
        by_model = line.get("type") == "assistant"
        message = table(line.get("message"))
        if message.get("model") == "<synthetic>":  # the program's own words about an error
            continue
        if by_model and answered:
            story.next_turn()
        answered = not by_model if line.get("type") in ("assistant", "user", "result") else answered
        for part in rows(message.get("content")):
            _tell(story, part, by_model=by_model)
    return story.events()


def _tell(story: LogBuilder, part: dict[str, Any], *, by_model: bool) -> None:
    match part.get("type"):
        case "text" if by_model:
            story.said(text(part.get("text")))
        case "thinking" if by_model:
            story.thought(text(part.get("thinking")))
        case "tool_use" if by_model:
            story.called(text(part.get("id")), text(part.get("name")), table(part.get("input")))
        case "tool_result":
            content = part.get("content")
            said = content if isinstance(content, str) else "\n".join(text(row.get("text")) for row in rows(content))
            story.answered(text(part.get("tool_use_id")), said, succeeded=not part.get("is_error"))
