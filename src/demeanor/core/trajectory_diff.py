"""Two trajectories side by side: which steps they share, and where they part."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from typing import TypeAlias

from demeanor.core.trajectory import Called, Event, Faulted, ModelFailed, Said

_Step: TypeAlias = Called | Said | ModelFailed | Faulted


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """What both did at one point; None where one of them did nothing there."""

    left: Event | None
    """What the first did."""

    right: Event | None
    """What the second did."""

    same: bool
    """Whether both did the same: the same tool with the same arguments. Words may differ, since they always do."""


def align(left: Sequence[Event], right: Sequence[Event]) -> tuple[Pair, ...]:
    """The steps of both, those that are alike side by side. Thoughts and side requests are left out."""
    ours, theirs = _steps(left), _steps(right)
    return tuple(_paired(ours, theirs, (_whole, _rough)))


def first_divergence(pairs: Sequence[Pair]) -> int | None:
    """The first point at which they did not do the same; None where they never parted."""
    return next((place for place, pair in enumerate(pairs) if not pair.same), None)


def distance(left: Sequence[Event], right: Sequence[Event]) -> int:
    """At how many points they did not do the same: the smaller, the nearer."""
    return sum(not pair.same for pair in align(left, right))


def way(events: Sequence[Event]) -> tuple[str, ...]:
    """The steps, as they are compared: two trajectories of one way never part."""
    return tuple(_whole(event) for event in _steps(events))


def _steps(events: Sequence[Event]) -> list[_Step]:
    return [event for event in events if isinstance(event, Called | Said | ModelFailed | Faulted)]


def _whole(event: Event) -> str:
    if isinstance(event, Called):
        return f"called {event.tool} {json.dumps(dict(event.arguments), sort_keys=True, default=str)} {event.raw}"
    return _rough(event)


def _rough(event: Event) -> str:
    if isinstance(event, Called):
        return f"called {event.tool}"
    return f"{event.type} {getattr(event, 'status', '')} {getattr(event, 'reason', '')}"


def _paired(left: list[_Step], right: list[_Step], keys: Sequence[Callable[[Event], str]]) -> list[Pair]:
    """Pairs by the first key; what it leaves between them by the next one; what is left then by place."""
    if not keys:
        return [Pair(left=ours, right=theirs, same=False) for ours, theirs in zip_longest(left, right)]
    key, *rest = keys
    matcher = SequenceMatcher(a=[key(event) for event in left], b=[key(event) for event in right], autojunk=False)
    pairs: list[Pair] = []
    for what, i, j, m, n in matcher.get_opcodes():
        if what == "equal":
            exact = key is _whole
            pairs += [
                Pair(left=ours, right=theirs, same=exact) for ours, theirs in zip(left[i:j], right[m:n], strict=True)
            ]
        else:
            pairs += _paired(left[i:j], right[m:n], rest)
    return pairs
