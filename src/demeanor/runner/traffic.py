"""Traffic of the gateway as a file: a line about the session, then one exchange per line; and the session in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from demeanor.core.text.codec import DecodeError, decode, encode
from demeanor.core.trees.git import GitError, git
from demeanor.core.values.exchange import Exchange, Request
from demeanor.core.values.messages import Text
from demeanor.core.values.session import PastSession, Round
from demeanor.core.values.trajectory import Event
from demeanor.gateway.script import user_text
from demeanor.observe import Conversations, answers, events_of

FORMAT = "demeanor-traffic"
"""Says in the first line what the file is."""

_VERSION = 1
_FOLDER = re.compile(
    r"(?:working[ _-]director(?:y|ies)|workspace directories|<cwd>|cwd)[^/\n]{0,20}\n?[^/\n]{0,8}(/[^\s<>\"'`,;]+)",
    re.I,
)
"""Where agents tell their model the folder that they work in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrafficHeader:
    """The first line of a file with traffic: the state of the folder in which the gateway was started."""

    started: str = ""
    """When the gateway was started, in ISO 8601."""

    folder: str = ""
    """The folder in which it was started."""

    commit: str = ""
    """The commit that was checked out there; empty without a repository."""

    changes: str | None = None
    """The uncommitted changes of tracked files, as a patch; None without a repository."""


def traffic_header(folder: Path, started: str) -> TrafficHeader:
    """The first line for traffic of an agent that works in `folder`, from now on."""
    try:
        commit = git(folder, "rev-parse", "HEAD").strip()
        changes = git(folder, "diff", "--binary", "--no-color", "--no-ext-diff", "--no-textconv", "--relative", "HEAD")
    except GitError:
        return TrafficHeader(started=started, folder=str(folder))
    return TrafficHeader(started=started, folder=str(folder), commit=commit, changes=changes)


def header_line(header: TrafficHeader) -> Any:
    """The header as it is written."""
    return {"format": FORMAT, "version": _VERSION, **encode(header)}


def traffic_session(lines: Sequence[Mapping[str, Any]]) -> PastSession | None:
    """The session in a file with traffic, also one of `gateway --log`; None if it is another file.

    Raises ValueError if a line is not an exchange.
    """
    first = lines[0] if lines else {}
    has_header = first.get("format") == FORMAT
    if not has_header and not {"dialect", "request", "number"} <= set(first):
        return None
    try:
        header = _header(first) if has_header else TrafficHeader()
        exchanges = [decode(Exchange, dict(line)) for line in lines[1 if has_header else 0 :]]
    except DecodeError as error:
        raise ValueError(f"a line is not an exchange: {error}") from None
    return PastSession(
        agent="",
        id=header.started,
        model=exchanges[0].request.model if exchanges else "",
        rounds=exchange_rounds(exchanges),
        folder=header.folder or _told_folder(exchanges),
        started=header.started,
        commit=header.commit,
        changes=header.changes,
        gaps=() if has_header else ("the log does not say which commit was checked out",),
    )


def _header(line: Mapping[str, Any]) -> TrafficHeader:
    if line.get("version") != _VERSION:
        raise ValueError(f"this traffic has version {line.get('version')!r}, and only {_VERSION} can be read")
    return decode(TrafficHeader, {name: value for name, value in line.items() if name not in ("format", "version")})


def exchange_rounds(
    exchanges: Sequence[Exchange], prompts: Sequence[str] = (), events: Sequence[Event] | None = None
) -> tuple[Round, ...]:
    """The rounds of the main conversation. `prompts`, if known, are what the user really wrote; `events` replace those
    of the exchanges alone."""
    conversations = Conversations(exchanges, prompts)
    observed = events_of(conversations, {}) if events is None else events
    begins = _beginnings(conversations.main)
    rounds: list[Round] = []
    for index, (turn, prompt) in enumerate(begins):
        end = begins[index + 1][0] if index + 1 < len(begins) else None
        own = [event for event in observed if event.turn > turn and (end is None or event.turn <= end)]
        own += [event for event in observed if event.turn == 0] if not index else []
        round_prompt = prompts[index] if index < len(prompts) and len(prompts) == len(begins) else prompt
        rounds.append(
            Round(prompt=round_prompt, events=tuple(replace(event, turn=max(event.turn - turn, 0)) for event in own))
        )
    return tuple(rounds)


def _beginnings(main: Iterable[Exchange]) -> list[tuple[int, str]]:
    """For each prompt: the number of answers before it, and its text."""
    main = list(main)
    counted = answers(main)
    beginnings: list[tuple[int, str]] = []
    turn, seen = 0, 0
    for exchange in main:
        texts = _prompts(exchange.request)
        if len(texts) > seen:
            beginnings.append((turn, texts[-1]))
        seen = max(seen, len(texts))
        turn += exchange.number in counted
    return beginnings


def _prompts(request: Request) -> list[str]:
    """The user's texts in a request: the last one before each answer."""
    prompts: list[str] = []
    waiting = ""
    for message in request.messages:
        if message.role == "assistant":
            prompts += [waiting] if waiting else []
            waiting = ""
        elif message.role == "user" and any(isinstance(part, Text) for part in message.parts):
            waiting = user_text(message) or waiting
    return [*prompts, waiting] if waiting else prompts


def _told_folder(exchanges: Sequence[Exchange]) -> str:
    """The folder that the first request names as the working directory; empty if it names none, or several."""
    if not exchanges:
        return ""
    texts = (part.text for message in exchanges[0].request.messages for part in message.parts if isinstance(part, Text))
    folders = {folder.rstrip("/.") for text in texts for folder in _FOLDER.findall(text)}
    return folders.pop() if len(folders) == 1 else ""
