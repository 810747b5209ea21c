"""Sessions of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from demeanor.agents.jsonl import joined_text
from demeanor.agents.recipes.codex import ANSWERS, RECIPE, add_item, add_outcome, is_sub_agent
from demeanor.agents.session_logs.builder import SessionBuilder
from demeanor.core.text.json_values import as_dict, as_dicts, as_text
from demeanor.core.values.session import PastSession


def is_session(lines: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the file is one of its sessions."""
    return any(line.get("type") == "session_meta" and "payload" in line for line in lines)


def read_session(lines: list[dict[str, Any]]) -> PastSession:
    """The session. Its events name the prompts; of files without such events, the user's messages are taken."""
    built = SessionBuilder(RECIPE)
    facts: dict[str, str] = {}
    told = any(_told_prompt(line) for line in lines)
    for line in lines:
        kind, payload = line.get("type"), as_dict(line.get("payload"))
        if kind == "session_meta" and not facts:
            facts = _facts(payload)
            if is_sub_agent(payload):
                built.gaps["this is the session of a sub-agent: its first prompt came from another agent"] = None
        elif kind == "turn_context" and "model" not in facts:
            facts["model"] = as_text(payload.get("model"))
        elif kind == "compacted":
            built.gaps["the conversation was compacted: the agent saw a summary of what came before"] = None
        elif prompt := _told_prompt(line) if told else _message(line):
            built.add_prompt(prompt)
        elif kind == "response_item":
            by_model = payload.get("type") in ANSWERS and payload.get("role", "assistant") == "assistant"
            if by_model or str(payload.get("type")).endswith("_output"):
                built.answer(by_model=by_model)
            add_item(built.log, payload, 0)
        elif payload.get("type") == "item_completed":
            item = as_dict(payload.get("item"))
            add_outcome(built.log, item, 0)
            _add_seen(built, item)
        elif payload.get("type") == "turn_aborted":
            built.interrupt()
    return built.session(**facts)


def _facts(meta: Mapping[str, Any]) -> dict[str, str]:
    git = as_dict(meta.get("git"))
    facts = {"id": meta.get("id"), "folder": meta.get("cwd"), "started": meta.get("timestamp")}
    return {name: as_text(value) for name, value in {**facts, "commit": git.get("commit_hash")}.items()}


def _told_prompt(line: Mapping[str, Any]) -> str:
    """The prompt that an event reports; empty for other lines."""
    payload = as_dict(line.get("payload"))
    if line.get("type") != "event_msg":
        return ""
    item = as_dict(payload.get("item"))
    if payload.get("type") == "item_completed" and item.get("type") == "UserMessage":
        return joined_text(item.get("content"))
    return as_text(payload.get("message")) if payload.get("type") == "user_message" else ""


def _message(line: Mapping[str, Any]) -> str:
    payload = as_dict(line.get("payload"))
    by_user = line.get("type") == "response_item" and payload.get("type") == "message" and payload.get("role") == "user"
    return joined_text(payload.get("content")) if by_user else ""


def _add_seen(built: SessionBuilder, item: Mapping[str, Any]) -> None:
    """The output of `cat FILE`, which it records exactly."""
    parsed = as_dicts(item.get("parsed_cmd"))
    if item.get("type") != "CommandExecution" or item.get("exit_code") != 0 or len(parsed) != 1:
        return
    path, output = as_text(parsed[0].get("path")), item.get("aggregated_output")
    if path and parsed[0].get("cmd") == shlex.join(("cat", path)) and isinstance(output, str):
        built.saw(as_text(item.get("id")), path, output)
