"""Normalises requests: removes everything that differs between two runs of the same agent.

Two requests with the same normalised form get the same response. Everything that no rule covers counts: the model's
name, each word of the system prompt, each tool and its schema, the sampling.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from demeanor.config import LimitedPattern, PatternTooSlow
from demeanor.core.text.unordered import sort_enums, sort_sets
from demeanor.core.values.errors import CassetteError
from demeanor.gateway.cassette.rules import IGNORED, RULES, NormalisationRule

if TYPE_CHECKING:
    from demeanor.config import ReplayRules
    from demeanor.gateway.cassette.rules import Scope

NormalisedRequest: TypeAlias = dict[str, Any]
_MAX_CACHED_TEXTS = 4096
_ID_KEYS = {"tool_call": "id", "tool_result": "call_id"}
"""Where parts of a message have the id of a call."""

_Steps: TypeAlias = tuple[str, ...]


class Normaliser:
    """Removes volatile content, by Demeanor's rules and the user's."""

    def __init__(self, extra: ReplayRules | None = None) -> None:
        ignore = (*IGNORED, *(extra.ignore if extra else ()))
        self._ignored: list[_Steps] = [tuple(path.split(".")) for path in ignore]
        own = [
            NormalisationRule(pattern=LimitedPattern(pattern), replacement=replacement)
            for pattern, replacement in (extra.replace if extra else ())
        ]
        rules = (*own, *RULES)
        self._results = [rule for rule in rules if rule.scope != "prose"]
        self._prose = [rule for rule in rules if rule.scope != "results"]
        self._cache: dict[tuple[Scope, str], str] = {}

    def normalise(self, request: NormalisedRequest) -> NormalisedRequest:
        """The normalised form of a request; `request` is JSON data in which placeholders replace machine paths."""
        cleaned: NormalisedRequest = _without(request, self._ignored)
        ids: dict[str, str] = {}
        messages = [self._normalise_message(message, ids) for message in cleaned.pop("messages", ())]
        fields = {key: self._normalise_value(value, "prose") for key, value in cleaned.items()}
        return {
            "model": fields.pop("model", ""),
            "messages": messages,
            "tools": _tools_by_name(fields.pop("tools", [])),
            **_prune(fields),
        }

    def _normalise_message(self, message: NormalisedRequest, ids: dict[str, str]) -> NormalisedRequest:
        parts = [self._normalise_part(part, ids) for part in message.get("parts", ())]
        rest = {key: self._normalise_value(value, "prose") for key, value in message.items() if key != "parts"}
        return {**_prune(rest), "parts": parts}

    def _normalise_part(self, part: NormalisedRequest, ids: dict[str, str]) -> NormalisedRequest:
        kind = part.get("kind")
        fields: NormalisedRequest = self._normalise_value(part, "results" if kind == "tool_result" else "prose")
        if key := _ID_KEYS.get(str(kind)):
            fields[key] = ids.setdefault(str(part.get(key)), f"call-{len(ids) + 1}")
        if kind == "tool_call" and fields.get("arguments") is not None:
            fields.pop("raw", None)
        return _prune(fields)

    def _normalise_value(self, data: Any, scope: Scope) -> Any:
        if isinstance(data, str):
            return self._normalise_text(data, scope)
        if isinstance(data, list):
            return [self._normalise_value(item, scope) for item in data]
        if isinstance(data, dict):
            return {key: self._normalise_value(item, scope) for key, item in data.items()}
        if isinstance(data, float) and data.is_integer():
            return int(data)  # 1 and 1.0 are the same number
        return data

    def _normalise_text(self, text: str, scope: Scope) -> str:
        """Apply all rules to a text. Results are cached, because every request repeats the same texts."""
        hidden = self._cache.get((scope, text))
        if hidden is None:
            hidden = text
            try:
                for rule in self._results if scope == "results" else self._prose:
                    hidden = rule.pattern.sub(rule.replacement, hidden)
            except PatternTooSlow as error:
                raise CassetteError(f"[replay] replace: {error}") from None
            hidden = sort_sets(hidden)
            if len(self._cache) >= _MAX_CACHED_TEXTS:
                self._cache.clear()
            self._cache[scope, text] = hidden
        return hidden


def _without(data: Any, ignored: Sequence[_Steps]) -> Any:
    """JSON data without the fields that the paths select."""
    if not ignored:
        return data
    if isinstance(data, list):
        pairs: list[tuple[str, Any]] = [(str(index), item) for index, item in enumerate(data)]
        return [_without(item, below) for key, item in pairs if (below := _below(ignored, key)) is not None]
    if isinstance(data, dict):
        return {key: _without(item, below) for key, item in data.items() if (below := _below(ignored, key)) is not None}
    return data


def _below(ignored: Sequence[_Steps], key: str) -> list[_Steps] | None:
    """The rest of the paths below `key`; None if one of them ends there."""
    branches: list[_Steps] = []
    for path in ignored:
        first, rest = path[0], path[1:]
        if first == "**":
            branches.append(path)
            path, first, rest = rest, rest[0] if rest else "", rest[1:]  # noqa: PLW2901 - `**` also matches no step
            if not path:
                return None
        if first in {key, "*"}:
            if not rest:
                return None
            branches.append(rest)
    return branches


def _tools_by_name(tools: list[NormalisedRequest]) -> dict[str, NormalisedRequest]:
    """Tools by name: their order has no meaning, nor has that of the values of an enumeration."""
    by_name: dict[str, NormalisedRequest] = {}
    for tool in tools:
        name, number = str(tool.get("name")), 1
        while (name if number == 1 else f"{name} ({number})") in by_name:
            number += 1
        by_name[name if number == 1 else f"{name} ({number})"] = _prune(sort_enums(tool))
    return {name: by_name[name] for name in sorted(by_name)}


def _prune(data: NormalisedRequest) -> NormalisedRequest:
    """Without tables that are empty after the volatile fields are removed."""
    kept = {key: _without_empty(value) if key == "extra" else value for key, value in data.items()}
    return {key: value for key, value in kept.items() if value != {}}


def _without_empty(data: Any) -> Any:
    if not isinstance(data, dict):
        return data
    return {key: inner for key, value in data.items() if (inner := _without_empty(value)) != {}}
