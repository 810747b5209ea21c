"""Sessions of Cline, goose and opencode: lists of messages, in files of their own, in exports, or in a database."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from demeanor.agents.jsonl import joined_text
from demeanor.agents.recipes import cline, goose, opencode
from demeanor.agents.session_logs.builder import SessionBuilder
from demeanor.agents.sessions import add_part
from demeanor.core.text.json_values import as_dict, as_dicts, as_number, as_text
from demeanor.core.values.session import PastSession

_WITHOUT_ZONE = re.compile(r"[0-9-]{10}[ T][0-9:.]{8,15}")
_USER_INPUT = re.compile(r"\s*<user_input[^>]*>(.*)</user_input>\s*", re.S)


def cline_session(data: Mapping[str, Any], about: Mapping[str, Any]) -> PastSession:
    """A session of Cline: `<id>.messages.json`, and `<id>.json` about it. Before each run, it saves all files as a
    commit in the user's repository."""
    built = SessionBuilder(cline.RECIPE)
    history = as_dicts(as_dict(as_dict(about.get("metadata")).get("checkpoint")).get("history"))
    snapshots = {as_number(entry.get("runCount")): as_text(entry.get("ref")) for entry in history}
    for message in as_dicts(data.get("messages")):
        by_model = message.get("role") == "assistant"
        parts = as_dicts(message.get("content"))
        if not by_model and not any(part.get("type") == "tool_result" for part in parts):
            text = joined_text([part for part in parts if part.get("type") == "text"] or message.get("content"))
            match = _USER_INPUT.fullmatch(text)
            built.add_prompt(match[1] if match else text, snapshot=snapshots.get(built.rounds + 1, ""))
            continue
        built.answer(by_model=by_model)
        for part in parts:
            if part.get("type") == "tool_result":
                _add_cline_result(built, part)
            else:
                add_part(built.log, part, by_model=by_model, sub_agent=0)
    facts = {"id": data.get("sessionId"), "model": about.get("model"), "folder": about.get("cwd")}
    facts["started"] = about.get("started_at")
    return built.session(**{name: as_text(value) for name, value in facts.items()})


def _add_cline_result(built: SessionBuilder, part: Mapping[str, Any]) -> None:
    content = part.get("content")
    outcomes = as_dicts(content)
    text = "\n".join(as_text(outcome.get("result")) or as_text(outcome.get("text")) for outcome in outcomes)
    failed = part.get("is_error") is True or any(outcome.get("success") is False for outcome in outcomes)
    failed = failed or (isinstance(content, str) and '"success":false' in content)
    built.log.add_result(as_text(part.get("tool_use_id")), text if outcomes else as_text(content), succeeded=not failed)


def goose_session(data: Mapping[str, Any]) -> PastSession:
    """A session of goose: what `goose session export --format json` writes, or a row of its database with messages."""
    built = SessionBuilder(goose.RECIPE)
    for message in as_dicts(data.get("conversation")):
        if as_dict(message.get("metadata")).get("userVisible") is False:
            continue
        parts = as_dicts(message.get("content"))
        by_model = message.get("role") == "assistant"
        if not by_model and not any(part.get("type") == "toolResponse" for part in parts):
            built.add_prompt(joined_text([part for part in parts if part.get("type") == "text"]))
            continue
        built.answer(by_model=by_model)
        for part in parts:
            goose.add_part(built.log, part, as_text(message.get("id")))
    model = as_dict(data.get("model_config")).get("model_name")
    facts = {"id": data.get("id"), "folder": data.get("working_dir"), "started": data.get("created_at"), "model": model}
    texts = {name: as_text(value) for name, value in facts.items()}
    if _WITHOUT_ZONE.fullmatch(texts["started"]):  # as its database has it
        texts["started"] = f"{texts['started']}+00:00"
    return built.session(**texts)


def opencode_session(data: Mapping[str, Any]) -> PastSession:
    """A session of opencode: what `opencode export` writes, or rows of its database."""
    built = SessionBuilder(opencode.RECIPE)
    info, model = as_dict(data.get("info")), ""
    for message in as_dicts(data.get("messages")):
        about, parts = as_dict(message.get("info")), as_dicts(message.get("parts"))
        if about.get("role") == "user":
            own = [part for part in parts if part.get("type") == "text" and part.get("synthetic") is not True]
            built.add_prompt(joined_text(own))
            if any(part.get("type") == "file" for part in parts):
                built.gaps["a prompt has attached files, which are left out"] = None
            continue
        model = model or as_text(about.get("modelID"))
        built.log.next_turn()
        for part in parts:
            _add_opencode_part(built, part)
    started = as_number(as_dict(info.get("time")).get("created"))
    return built.session(
        id=as_text(info.get("id")),
        model=model,
        folder=as_text(info.get("directory")),
        started=_moment(started),
    )


def _add_opencode_part(built: SessionBuilder, part: dict[str, Any]) -> None:
    match part.get("type"):
        case "text":
            built.log.add_text(as_text(part.get("text")))
        case "reasoning":
            built.log.add_thought(as_text(part.get("text")))
        case "tool":
            opencode.add_tool_use(built.log, part)


def _moment(milliseconds: float | None) -> str:
    from datetime import UTC, datetime

    try:
        return "" if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()
    except (OverflowError, OSError, ValueError):
        return ""
