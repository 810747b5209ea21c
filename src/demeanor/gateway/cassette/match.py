"""Finds the recorded exchange for a request; if there is none, the nearest one and the first difference."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from demeanor.core.text.wording import one_line, without_secrets

if TYPE_CHECKING:
    from demeanor.core.values.exchange import Exchange
    from demeanor.gateway.cassette.normalise import NormalisedRequest

_CONTEXT = 40
"""Characters shown on either side of a difference."""

_ABSENT = object()


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestDiff:
    """The first difference between two normalised requests."""

    path: str
    """As in `messages[0].parts[0].text` or `tools.shell.description`."""

    recorded: str
    """The recorded value there, for display."""

    asked: str
    """The requested value there, for display."""


class ReplayQueue:
    """The recorded exchanges of one trial while it is replayed. Their order does not matter.

    Each exchange answers once. If the same request was recorded several times, its responses come in their order, and
    the last one is repeated after that, so that a client which retries gets the same response.
    """

    def __init__(self, exchanges: Sequence[Exchange], requests: Sequence[NormalisedRequest]) -> None:
        self._exchanges = tuple(exchanges)
        self._requests = tuple(requests)
        self._remaining: dict[str, list[int]] = {}
        for index, request in enumerate(requests):
            self._remaining.setdefault(request_key(request), []).append(index)

    def __len__(self) -> int:
        return len(self._exchanges)

    def take(self, request: NormalisedRequest) -> Exchange | None:
        """The exchange that was recorded for this request; None if there is none."""
        remaining = self._remaining.get(request_key(request))
        if not remaining:
            return None
        return self._exchanges[remaining.pop(0) if len(remaining) > 1 else remaining[0]]

    def nearest(self, request: NormalisedRequest) -> tuple[Exchange, RequestDiff] | None:
        """The recorded exchange that has most in common with a request, and the first difference."""
        asked = set(_leaves(request, ""))
        best = max(range(len(self)), key=lambda index: self._similarity(asked, index), default=None)
        if best is None:
            return None
        first_difference = difference(self._requests[best], request)
        return None if first_difference is None else (self._exchanges[best], first_difference)

    def _similarity(self, asked: set[tuple[str, str]], index: int) -> float:
        recorded = set(_leaves(self._requests[index], ""))
        return len(asked & recorded) / max(1, len(asked | recorded))


def difference(recorded: Any, asked: Any, path: str = "") -> RequestDiff | None:
    """The first difference between two values, in reading order."""
    if type(recorded) is type(asked) is dict:
        for key in dict.fromkeys((*recorded, *asked)):
            below = f"{path}.{key}" if path else str(key)
            inner = difference(recorded.get(key, _ABSENT), asked.get(key, _ABSENT), below)
            if inner:
                return inner
        return None
    if type(recorded) is type(asked) is list:
        for index in range(max(len(recorded), len(asked))):
            old = recorded[index] if index < len(recorded) else _ABSENT
            new = asked[index] if index < len(asked) else _ABSENT
            inner = difference(old, new, f"{path}[{index}]")
            if inner:
                return inner
        return None
    if recorded == asked and type(recorded) is type(asked):
        return None
    if isinstance(recorded, str) and isinstance(asked, str):
        recorded, asked = without_secrets(recorded), without_secrets(asked)
        same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(recorded, asked, strict=False))
        at = sum(1 for _ in same)
        return RequestDiff(path=path, recorded=_excerpt(recorded, at), asked=_excerpt(asked, at))
    return RequestDiff(path=path, recorded=_shown(recorded), asked=_shown(asked))


def _excerpt(text: str, at: int) -> str:
    start = max(0, at - _CONTEXT)
    shown = one_line(text[start : at + 2 * _CONTEXT], width=3 * _CONTEXT)
    return f"{'…' if start else ''}{shown}{'…' if at + 2 * _CONTEXT < len(text) else ''}"


def _shown(value: Any) -> str:
    if value is _ABSENT:
        return "(nothing)"
    return one_line(json.dumps(value, ensure_ascii=False), width=3 * _CONTEXT)


def request_key(request: NormalisedRequest) -> str:
    """The same text for equal requests."""
    return json.dumps(request, sort_keys=True, separators=(",", ":"))


def _leaves(data: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(data, dict) and data:
        for key, item in data.items():
            yield from _leaves(item, f"{path}.{key}")
    elif isinstance(data, list) and data:
        for index, item in enumerate(data):
            yield from _leaves(item, f"{path}[{index}]")
    else:
        yield path, repr(data)
