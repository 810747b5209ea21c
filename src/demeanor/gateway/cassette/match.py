"""Finding the recorded exchange that a request means; and where there is none, the nearest one and how it differs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from demeanor.core.text import one_line

if TYPE_CHECKING:
    from demeanor.core.exchange import Exchange
    from demeanor.gateway.cassette.normalise import Meaning

_AROUND = 40
"""Characters shown on either side of a difference."""

_NOTHING = object()


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestDiff:
    """Where two meanings first differ."""

    path: str
    """As in `messages[0].parts[0].text` or `tools.shell.description`."""

    recorded: str
    """What was recorded there, for a person."""

    asked: str
    """What is asked there, for a person."""


class ReplayQueue:
    """The recorded exchanges of one trial while it is replayed. Order does not matter.

    Each exchange answers once. Where the same request was recorded several times, its answers come in their order; and
    when they are used up, the last one comes again, so that a client which asks again is told what it was told.
    """

    def __init__(self, exchanges: Sequence[Exchange], meanings: Sequence[Meaning]) -> None:
        self._exchanges = tuple(exchanges)
        self._meanings = tuple(meanings)
        self._left: dict[str, list[int]] = {}
        for index, meaning in enumerate(meanings):
            self._left.setdefault(_key(meaning), []).append(index)

    def __len__(self) -> int:
        return len(self._exchanges)

    def draw(self, meaning: Meaning) -> Exchange | None:
        """The exchange that was recorded for such a request; None where there is none."""
        left = self._left.get(_key(meaning))
        if not left:
            return None
        return self._exchanges[left.pop(0) if len(left) > 1 else left[0]]

    def nearest(self, meaning: Meaning) -> tuple[Exchange, RequestDiff] | None:
        """The recorded exchange that has most in common with a request, and where they first differ."""
        asked = set(_leaves(meaning, ""))
        best = max(range(len(self)), key=lambda index: self._likeness(asked, index), default=None)
        if best is None:
            return None
        found = difference(self._meanings[best], meaning)
        return None if found is None else (self._exchanges[best], found)

    def _likeness(self, asked: set[tuple[str, str]], index: int) -> float:
        recorded = set(_leaves(self._meanings[index], ""))
        return len(asked & recorded) / max(1, len(asked | recorded))


def difference(recorded: Any, asked: Any, path: str = "") -> RequestDiff | None:
    """Where two meanings first differ, in the order in which a person would read them."""
    if type(recorded) is type(asked) is dict:
        for key in dict.fromkeys((*recorded, *asked)):
            below = f"{path}.{key}" if path else str(key)
            found = difference(recorded.get(key, _NOTHING), asked.get(key, _NOTHING), below)
            if found:
                return found
        return None
    if type(recorded) is type(asked) is list:
        for index in range(max(len(recorded), len(asked))):
            old = recorded[index] if index < len(recorded) else _NOTHING
            new = asked[index] if index < len(asked) else _NOTHING
            found = difference(old, new, f"{path}[{index}]")
            if found:
                return found
        return None
    if recorded == asked and type(recorded) is type(asked):
        return None
    if isinstance(recorded, str) and isinstance(asked, str):
        same = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(recorded, asked, strict=False))
        at = sum(1 for _ in same)
        return RequestDiff(path=path, recorded=_around(recorded, at), asked=_around(asked, at))
    return RequestDiff(path=path, recorded=_told(recorded), asked=_told(asked))


def _around(text: str, at: int) -> str:
    start = max(0, at - _AROUND)
    shown = one_line(text[start : at + 2 * _AROUND], width=3 * _AROUND)
    return f"{'…' if start else ''}{shown}{'…' if at + 2 * _AROUND < len(text) else ''}"


def _told(value: Any) -> str:
    if value is _NOTHING:
        return "(nothing)"
    return one_line(json.dumps(value, ensure_ascii=False), width=3 * _AROUND)


def _key(meaning: Meaning) -> str:
    return json.dumps(meaning, sort_keys=True, separators=(",", ":"))


def _leaves(data: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(data, dict) and data:
        for key, item in data.items():
            yield from _leaves(item, f"{path}.{key}")
    elif isinstance(data, list) and data:
        for index, item in enumerate(data):
            yield from _leaves(item, f"{path}[{index}]")
    else:
        yield path, repr(data)
