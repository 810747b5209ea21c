"""Sessions of Gemini CLI: `~/.gemini/tmp/*/chats/session-*.jsonl` (one object in older versions: `.json`).

A line adds a message, or replaces the one with the same id; a `$set` line replaces all of them, in a shorter form after
a resumed session.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from demeanor.agents.jsonl import joined_text
from demeanor.agents.recipes.gemini_cli import RECIPE, exit_code, result_text
from demeanor.agents.session_logs.builder import SessionBuilder
from demeanor.core.text.json_values import as_dict, as_dicts, as_text
from demeanor.core.values.session import PastSession


def is_session(lines: Iterable[Mapping[str, Any]]) -> bool:
    """Whether the file is one of its sessions."""
    return any("sessionId" in line and "projectHash" in line for line in lines)


def read_session(lines: list[dict[str, Any]], *, folder: str = "") -> PastSession:
    """The session; `folder` is that of its project, which another file names."""
    built = SessionBuilder(RECIPE)
    facts = {"folder": folder}
    for line in lines:
        for name, key in (("id", "sessionId"), ("started", "startTime")):
            if text := as_text(line.get(key)):
                facts.setdefault(name, text)
    for message in _messages(lines):
        if model := as_text(message.get("model")):
            facts.setdefault("model", model)
        if message.get("type") == "user":
            _add_user(built, message)
        elif message.get("type") == "gemini":
            built.answer(by_model=True)
            _add_answer(built, message)
    return built.session(**facts)


def _messages(lines: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages of the session, each in its most complete form, in order."""
    messages: dict[str, dict[str, Any]] = {}
    for line in lines:
        changed = as_dict(line.get("$set"))
        whole = line.get("messages") if "messages" in line else changed.get("messages")
        if whole is not None:
            listed = {as_text(message.get("id")): message for message in as_dicts(whole)}
            messages = {own: _fuller(messages.get(own), message) for own, message in listed.items()}
        elif own := as_text(line.get("id")):
            messages[own] = line if isinstance(line, dict) else dict(line)
    return list(messages.values())


def _fuller(earlier: dict[str, Any] | None, message: dict[str, Any]) -> dict[str, Any]:
    return earlier if earlier is not None and earlier.get("toolCalls") else message


def _add_user(built: SessionBuilder, message: Mapping[str, Any]) -> None:
    content = message.get("content")
    parts = as_dicts(content)
    responses = [as_dict(part["functionResponse"]) for part in parts if "functionResponse" in part]
    if not responses:
        built.add_prompt(joined_text(content))
        return
    built.answer(by_model=False)
    for response in responses:
        output = as_dict(response.get("response"))
        own, name = as_text(response.get("id")), as_text(response.get("name"))
        result = as_text(output.get("output")) or as_text(output.get("error"))
        built.log.add_result(own.removeprefix(f"{name}__"), result)


def _add_answer(built: SessionBuilder, message: Mapping[str, Any]) -> None:
    for thought in as_dicts(message.get("thoughts")):
        built.log.add_thought(as_text(thought.get("description")))
    content = message.get("content")
    built.log.add_text(content if isinstance(content, str) else joined_text(content))
    for part in as_dicts(content):
        if call := as_dict(part.get("functionCall")):
            name = as_text(call.get("name"))
            built.log.add_call(as_text(call.get("id")).removeprefix(f"{name}__"), name, as_dict(call.get("args")))
    for call in as_dicts(message.get("toolCalls")):
        _add_call(built, call)


def _add_call(built: SessionBuilder, call: Mapping[str, Any]) -> None:
    name = as_text(call.get("name"))
    own = as_text(call.get("id")).removeprefix(f"{name}__")
    built.log.add_call(own, name, as_dict(call.get("args")))
    succeeded = call.get("status") == "success"
    built.log.add_result(own, result_text(call), succeeded=succeeded, exit_code=exit_code(call))
    shown = as_dict(call.get("resultDisplay"))
    if isinstance(shown.get("originalContent"), str):
        new = shown.get("isNewFile") is True
        built.saw(own, as_text(shown.get("filePath")), None if new else shown["originalContent"])
