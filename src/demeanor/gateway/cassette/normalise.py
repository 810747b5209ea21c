"""A request's meaning: what is left of it when everything that differs from run to run is taken out.

Two requests with equal meanings get the same answer. Whatever no rule speaks of counts: the model's name, each word of
the system prompt, each tool and its schema, the sampling.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from demeanor.gateway.cassette.rules import IGNORED, RULES, NormalisationRule

if TYPE_CHECKING:
    from demeanor.config.tables import ReplayRules
    from demeanor.gateway.cassette.rules import Scope

Meaning: TypeAlias = dict[str, Any]
_MOST_REMEMBERED = 4096
_Steps: TypeAlias = tuple[str, ...]


class Normaliser:
    """Takes out what is volatile, by Demeanor's own rules and by a user's."""

    def __init__(self, extra: ReplayRules | None = None) -> None:
        ignore = (*IGNORED, *(extra.ignore if extra else ()))
        self._ignored: list[_Steps] = [tuple(path.split(".")) for path in ignore]
        own = [
            NormalisationRule(pattern=re.compile(pattern), put=put) for pattern, put in (extra.replace if extra else ())
        ]
        rules = (*own, *RULES)
        self._results = [rule for rule in rules if rule.scope != "prose"]
        self._prose = [rule for rule in rules if rule.scope != "results"]
        self._known: dict[tuple[Scope, str], str] = {}

    def meaning(self, request: Meaning) -> Meaning:
        """The meaning of a request, given as JSON data in which no name of the bench stands any more."""
        cleaned: Meaning = _without(request, self._ignored)
        ids: dict[str, str] = {}
        messages = [self._message(message, ids) for message in cleaned.pop("messages", ())]
        found = {key: self._walk(value, "prose") for key, value in cleaned.items()}
        return {
            "model": found.pop("model", ""),
            "messages": messages,
            "tools": _by_name(found.pop("tools", [])),
            **_pruned(found),
        }

    def _message(self, message: Meaning, ids: dict[str, str]) -> Meaning:
        parts = [self._part(part, ids) for part in message.get("parts", ())]
        rest = {key: self._walk(value, "prose") for key, value in message.items() if key != "parts"}
        return {**_pruned(rest), "parts": parts}

    def _part(self, part: Meaning, ids: dict[str, str]) -> Meaning:
        kind = part.get("kind")
        found: Meaning = self._walk(part, "results" if kind == "tool_result" else "prose")
        for key in ("id",) if kind == "tool_call" else ("call_id",) if kind == "tool_result" else ():
            found[key] = ids.setdefault(str(part.get(key)), f"call-{len(ids) + 1}")
        if kind == "tool_call" and found.get("arguments") is not None:
            found.pop("raw", None)
        return _pruned(found)

    def _walk(self, data: Any, scope: Scope) -> Any:
        if isinstance(data, str):
            return self._text(data, scope)
        if isinstance(data, list):
            return [self._walk(item, scope) for item in data]
        if isinstance(data, dict):
            return {key: self._walk(item, scope) for key, item in data.items()}
        if isinstance(data, float) and data.is_integer():
            return int(data)  # 1 and 1.0 are the same number, whoever wrote it
        return data

    def _text(self, text: str, scope: Scope) -> str:
        """A text by all rules; the same texts come again with every request, so they are remembered."""
        found = self._known.get((scope, text))
        if found is None:
            found = text
            for rule in self._results if scope == "results" else self._prose:
                found = rule.pattern.sub(rule.put, found)
            if len(self._known) >= _MOST_REMEMBERED:
                self._known.clear()
            self._known[scope, text] = found
        return found


def _without(data: Any, ignored: Sequence[_Steps]) -> Any:
    """JSON data without what the paths lead to."""
    if not ignored:
        return data
    if isinstance(data, list):
        pairs: list[tuple[str, Any]] = [(str(index), item) for index, item in enumerate(data)]
        return [_without(item, below) for key, item in pairs if (below := _below(ignored, key)) is not None]
    if isinstance(data, dict):
        return {key: _without(item, below) for key, item in data.items() if (below := _below(ignored, key)) is not None}
    return data


def _below(ignored: Sequence[_Steps], key: str) -> list[_Steps] | None:
    """What the paths say below `key`; None where one of them ends there."""
    found: list[_Steps] = []
    for path in ignored:
        first, rest = path[0], path[1:]
        if first == "**":
            found.append(path)
            path, first, rest = rest, rest[0] if rest else "", rest[1:]  # noqa: PLW2901 - `**` may stand for nothing
            if not path:
                return None
        if first in {key, "*"}:
            if not rest:
                return None
            found.append(rest)
    return found


def _by_name(tools: list[Meaning]) -> dict[str, Meaning]:
    """Tools by name: their order says nothing."""
    found: dict[str, Meaning] = {}
    for tool in tools:
        name, number = str(tool.get("name")), 1
        while (name if number == 1 else f"{name} ({number})") in found:
            number += 1
        found[name if number == 1 else f"{name} ({number})"] = _pruned(tool)
    return {name: found[name] for name in sorted(found)}


def _pruned(data: Meaning) -> Meaning:
    """Without tables that are empty once everything volatile is out of them."""
    found = {key: _full(value) if key == "extra" else value for key, value in data.items()}
    return {key: value for key, value in found.items() if value != {}}


def _full(data: Any) -> Any:
    if not isinstance(data, dict):
        return data
    return {key: inner for key, value in data.items() if (inner := _full(value)) != {}}
