"""Remove from a session what must not be in an eval: secrets, and the paths of the machine that it took place on."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from demeanor.core.redaction.redactor import Redactor, without_digits
from demeanor.core.redaction.values import redacted
from demeanor.core.values.session import PastSession, Round
from demeanor.core.values.trajectory import Aside, Called, Concluded, Event, Said, Thought

_HOME = re.compile(r"/(?:home|Users)/[^/\s\"'`:;,<>|&()\\]+|/root(?=/)")
_DEEPEST = 40


def cleaned(session: PastSession, redactor: Redactor) -> PastSession:
    """The session without secrets; paths are relative to its folder, and home directories are `~`.

    Marks of secrets that were replaced when it was kept lose their digits, which differ from run to run.
    """
    kept = redacted(session, redactor)
    folder = session.folder.rstrip("/")

    def plain(text: str) -> str:
        text = text.encode("utf-8", "replace").decode()  # JSON can contain halves of characters
        if folder:
            text = text.replace(f"{folder}/", "")
            text = re.sub(rf"{re.escape(folder)}(?![\w.-])", ".", text)
        return _HOME.sub("~", without_digits(text))

    return replace(kept, rounds=tuple(_round(round_, plain) for round_ in kept.rounds))


def _round(round_: Round, plain: Callable[[str], str]) -> Round:
    events = tuple(_event(event, plain) for event in round_.events)
    return replace(round_, prompt=plain(round_.prompt), events=events)


def _event(event: Event, plain: Callable[[str], str]) -> Event:
    if isinstance(event, Said | Thought | Concluded):
        return replace(event, text=plain(event.text))
    if isinstance(event, Called):
        result = None if event.result is None else plain(event.result)
        arguments = {name: _value(value, plain, 0) for name, value in event.arguments.items()}
        return replace(event, arguments=arguments, result=result, raw=plain(event.raw))
    if isinstance(event, Aside):
        return replace(event, said=plain(event.said), prompt=plain(event.prompt))
    return event


def _value(value: Any, plain: Callable[[str], str], depth: int) -> Any:
    if isinstance(value, str):
        return plain(value)
    if depth > _DEEPEST:
        return value
    if isinstance(value, Mapping):
        return {key: _value(item, plain, depth + 1) for key, item in value.items()}
    return [_value(item, plain, depth + 1) for item in value] if isinstance(value, list | tuple) else value
