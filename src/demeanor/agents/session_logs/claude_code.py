"""Sessions of Claude Code: `~/.claude/projects/*/*.jsonl`, one linked message per line.

A message that the user took back stays in the file; only the chain that leads to the last message counts. Results of
parallel calls are beside that chain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from demeanor.agents.recipes.claude_code import RECIPE
from demeanor.agents.session_logs.builder import SessionBuilder
from demeanor.agents.sessions import add_part, is_in_background
from demeanor.core.text.json_values import as_dict, as_dicts, as_number, as_text
from demeanor.core.values.session import PastSession

_OWN_TEXT = ("<command-", "<local-command", "<bash-", "Caveat: The messages below")
"""How texts begin that Claude Code writes in the user's name, for commands such as `/clear`."""

_INTERRUPTED = "[Request interrupted by user"
_HEAD = re.compile(r"Recent commits:\n([0-9a-f]{7,40}) ")


def is_session(lines: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the file is one of its sessions."""
    return any("sessionId" in line and "parentUuid" in line and line.get("type") == "user" for line in lines)


def read_session(lines: list[dict[str, Any]]) -> PastSession:
    """The session."""
    built = SessionBuilder(RECIPE)
    chain, facts = _chain(lines), dict[str, str]()
    for line in lines:
        if line.get("isSidechain") is True:
            built.gaps["what sub-agents did is left out"] = None
            continue
        if match := _HEAD.search(as_text(as_dict(as_dict(line.get("attachment")).get("context")).get("gitStatus"))):
            facts.setdefault("commit", match[1])
        if line.get("type") not in ("user", "assistant") or line.get("isMeta") is True:
            continue
        message = as_dict(line.get("message"))
        parts = as_dicts(message.get("content"))
        results = [part for part in parts if part.get("type") == "tool_result"]
        if message.get("model") == "<synthetic>" or (as_text(line.get("uuid")) not in chain and not results):
            continue
        _add_facts(facts, line, message)
        if line.get("type") == "user" and not results:
            _add_prompt(built, line, message)
            continue
        built.answer(by_model=line.get("type") == "assistant")
        in_background = is_in_background(line.get("toolUseResult"))
        for part in parts:
            by_model = line.get("type") == "assistant"
            add_part(built.log, part, by_model=by_model, sub_agent=0, in_background=in_background)
        for part in results:
            _add_seen(built, as_text(part.get("tool_use_id")), as_dict(line.get("toolUseResult")))
    return built.session(**facts)


def _chain(lines: Iterable[Mapping[str, Any]]) -> set[str]:
    """The ids of the messages that lead to the last one."""
    parents: dict[str, str] = {}
    last = ""
    for line in lines:
        if (own := as_text(line.get("uuid"))) and line.get("isSidechain") is not True:
            parents[own] = as_text(line.get("parentUuid")) or as_text(line.get("logicalParentUuid"))
            last = own
    ancestors: set[str] = set()
    while last and last not in ancestors:
        ancestors.add(last)
        last = parents.get(last, "")
    return ancestors


def _add_facts(facts: dict[str, str], line: Mapping[str, Any], message: Mapping[str, Any]) -> None:
    for name, value in (
        ("id", line.get("sessionId")),
        ("folder", line.get("cwd")),
        ("started", line.get("timestamp")),
        ("model", message.get("model")),
    ):
        if text := as_text(value):
            facts.setdefault(name, text)


def _add_prompt(built: SessionBuilder, line: Mapping[str, Any], message: Mapping[str, Any]) -> None:
    content = message.get("content")
    texts = [content] if isinstance(content, str) else [as_text(part.get("text")) for part in as_dicts(content)]
    text = "\n".join(text for text in texts if text)
    if line.get("isCompactSummary") is True:
        built.gaps["the conversation was compacted: the agent saw a summary of what came before"] = None
    elif text.startswith(_INTERRUPTED):
        built.interrupt()
    elif not text.startswith(_OWN_TEXT):
        built.add_prompt(text)
        if isinstance(content, list) and any(part.get("type") == "image" for part in as_dicts(content)):
            built.gaps["a prompt contains an image, which is left out"] = None


def _add_seen(built: SessionBuilder, call: str, result: Mapping[str, Any]) -> None:
    """What it records beside a tool result: the whole file that was read, or the original of an edited one."""
    file = as_dict(result.get("file"))
    whole = as_number(file.get("startLine")) == 1 and file.get("numLines") == file.get("totalLines")
    if whole and isinstance(file.get("content"), str):
        built.saw(call, as_text(file.get("filePath")), file["content"])
    original = result.get("originalFile")
    if "originalFile" in result and (
        isinstance(original, str) or (original is None and result.get("type") == "create")
    ):
        built.saw(call, as_text(result.get("filePath")), original)
