"""Recognise the session file of a coding agent by its content, and read it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from demeanor.agents.jsonl import json_objects
from demeanor.agents.session_logs import claude_code, codex, gemini_cli
from demeanor.agents.session_logs.database import HEADER, database_sessions
from demeanor.agents.session_logs.messages import cline_session, goose_session, opencode_session
from demeanor.core.text.json_values import as_dict
from demeanor.core.values.session import PastSession

_FIRST_LINES = 200
"""How many lines are searched for what is typical of an agent."""


def read_log_sessions(path: Path, content: bytes) -> list[PastSession] | None:
    """The sessions in an agent's own file, the oldest first; None if no agent writes such files.

    Raises ValueError if the file is broken.
    """
    if content.startswith(HEADER):
        return database_sessions(path)
    text = content.decode("utf-8", "replace")
    if (whole := _object(text)) is not None:
        return _from_object(path, whole)
    lines = list(json_objects(text))
    first = list(islice(lines, _FIRST_LINES))
    if codex.is_session(first):
        return [codex.read_session(lines)]
    if gemini_cli.is_session(first):
        return [gemini_cli.read_session(lines, folder=_gemini_folder(path))]
    if claude_code.is_session(first):
        return [claude_code.read_session(lines)]
    return None


def _object(text: str) -> dict[str, Any] | None:
    """The content of a file that is one JSON object."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _from_object(path: Path, data: dict[str, Any]) -> list[PastSession] | None:
    if isinstance(data.get("conversation"), list) and "working_dir" in data:
        return [goose_session(data)]
    if isinstance(data.get("messages"), list) and "directory" in as_dict(data.get("info")):
        return [opencode_session(data)]
    if gemini_cli.is_session([data]):
        return [gemini_cli.read_session([data], folder=_gemini_folder(path))]
    if "session_id" in data and "messages_path" in data:  # Cline's file about a session, beside its messages
        beside = path.with_name(f"{path.stem}.messages.json")
        messages = _file_object(beside)
        if messages is None:
            raise ValueError(f"the messages of this session are missing: there is no {beside.name} beside it")
        return [cline_session(messages, data)]
    if isinstance(data.get("messages"), list) and "sessionId" in data and "origin" in data:
        about = _file_object(path.with_name(f"{path.name.removesuffix('.messages.json')}.json"))
        return [cline_session(data, about or {})]
    return None


def _file_object(path: Path) -> dict[str, Any] | None:
    return _object(path.read_text("utf-8", "replace")) if path.is_file() else None


def _gemini_folder(path: Path) -> str:
    """The folder of the project, which a file beside the folder of its sessions names."""
    named = path.parent.parent / ".project_root"
    return named.read_text("utf-8", "replace").strip() if named.is_file() else ""


def is_half_of_another(path: Path) -> bool:
    """Whether a file belongs to a session that another file is read for: Cline writes two for each."""
    return (
        path.name.endswith(".messages.json")
        and path.with_name(f"{path.name.removesuffix('.messages.json')}.json").is_file()
    )


def known_formats() -> Iterable[str]:
    """The agents whose sessions can be read."""
    return ("Claude Code", "Cline", "Codex", "Gemini CLI", "goose", "opencode")
