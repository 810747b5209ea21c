"""Sessions in files: of coding agents, traffic of the gateway, and ATIF trajectories, recognised by their content."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from demeanor.agents import json_objects
from demeanor.agents.session_logs import is_half_of_another, known_formats, read_log_sessions
from demeanor.core.values.errors import BadInput, UnknownName
from demeanor.core.values.session import PastSession, Round
from demeanor.observe import atif_events, atif_steps
from demeanor.runner.traffic import traffic_session

_MOST_BYTES = 512 << 20
_ENDINGS = {".jsonl", ".json", ".db"}


def read_sessions(path: Path) -> list[PastSession]:
    """The sessions in a file, the oldest first; raises BadInput if it has none that can be read."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise BadInput(f"it is larger than {_MOST_BYTES >> 20} MiB", where=path, remedy="export one session of it")
        content = path.read_bytes()
        sessions = _read(path, content)
    except OSError as error:
        raise BadInput(f"can't be read: {error.strerror or error}", where=path) from None
    except ValueError as error:
        raise BadInput(str(error), where=path) from None
    if sessions is None:
        raise BadInput(
            "no session of a known format was found in it",
            where=path,
            remedy=f"give a session file of {', '.join(known_formats())}, traffic of `demeanor gateway serve --keep`,"
            " or an ATIF trajectory",
        )
    with_prompts = [session for session in sessions if session.rounds]
    if not with_prompts:
        raise BadInput("there is no prompt in it", where=path, remedy="choose a session in which the agent was asked")
    return with_prompts


def choose_session(sessions: list[PastSession], session_id: str | None, path: Path) -> PastSession:
    """The session with the wanted id, or the newest one."""
    if session_id is None:
        return sessions[-1]
    for session in sessions:
        if session.id == session_id:
            return session
    raise UnknownName("session", session_id, {session.id for session in sessions}, where=path)


def session_files(folder: Path) -> list[Path]:
    """The files below a folder that may have sessions, sorted."""
    if not folder.is_dir():
        raise BadInput("there is no such folder", where=folder, remedy="name the folder with the sessions")
    return sorted(
        path
        for path in folder.rglob("*")
        if path.suffix in _ENDINGS and path.is_file() and not path.is_symlink() and not is_half_of_another(path)
    )


def _read(path: Path, content: bytes) -> list[PastSession] | None:
    text = content.decode("utf-8", "replace")
    if '"schema_version"' in text and '"ATIF' in text and (session := _atif(text)) is not None:
        return [session]
    session = traffic_session(list(json_objects(text))) if text.startswith("{") else None
    return [session] if session is not None else read_log_sessions(path, content)


def _atif(text: str) -> PastSession | None:
    """The session in an ATIF trajectory: a step of the user begins a round."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not str(data.get("schema_version", "")).startswith("ATIF"):
        return None
    rounds: list[tuple[str, list[dict[str, Any]]]] = []
    for step in atif_steps(data):
        if step.get("source") == "user" and (prompt := _message(step.get("message"))):
            if rounds and not rounds[-1][1]:  # several texts before the agent's first step: the last one is the user's
                rounds.pop()
            rounds.append((prompt, []))
        elif rounds:
            rounds[-1][1].append(step)
    entry = data.get("agent")
    agent = entry if isinstance(entry, dict) else {}
    return PastSession(
        agent=str(agent.get("name") or ""),
        model=str(agent.get("model_name") or ""),
        id=str(data.get("session_id") or ""),
        rounds=tuple(Round(prompt=prompt, events=atif_events({"steps": own}, {})) for prompt, own in rounds),
    )


def _message(value: Any) -> str:
    parts = value if isinstance(value, list) else [{"text": value}]
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str)).strip()
