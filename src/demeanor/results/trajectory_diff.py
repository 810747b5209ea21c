"""Align two trajectories: which steps they share, and where they diverge."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeAlias

from demeanor.core.text.line_diff import DiffWork, opcodes
from demeanor.core.values.trajectory import Called, Event, Faulted, ModelFailed, Said, Steered

_Step: TypeAlias = Called | Said | ModelFailed | Faulted | Steered


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """One row of the alignment; None if that side has no step there."""

    left: Event | None
    """The first trajectory's step."""

    right: Event | None
    """The second trajectory's step."""

    same: bool
    """Whether both steps are the same: the same tool with the same arguments. Texts may differ; they always do."""


def align(left: Sequence[Event], right: Sequence[Event]) -> tuple[Pair, ...]:
    """The steps of both, with equal ones side by side. Thoughts and side requests are left out."""
    return tuple(_paired(_steps(left), _steps(right), (_whole, _rough), DiffWork()))


def first_divergence(pairs: Sequence[Pair]) -> int | None:
    """The index of the first pair that differs; None if there is none."""
    return next((index for index, pair in enumerate(pairs) if not pair.same), None)


def distance(left: Sequence[Event], right: Sequence[Event]) -> int:
    """The number of pairs that differ."""
    return sum(not pair.same for pair in align(left, right))


def way(events: Sequence[Event]) -> tuple[str, ...]:
    """The comparison keys of the steps: two trajectories with equal keys never diverge."""
    return tuple(_whole(event) for event in _steps(events))


def _steps(events: Sequence[Event]) -> list[_Step]:
    return [event for event in events if isinstance(event, _Step)]


def _whole(event: Event) -> str:
    if isinstance(event, Called):
        return f"called {event.tool} {json.dumps(dict(event.arguments), sort_keys=True, default=str)} {event.raw}"
    return _rough(event)


def _rough(event: Event) -> str:
    if isinstance(event, Called):
        return f"called {event.tool}"
    return f"{event.type} {getattr(event, 'status', '')} {getattr(event, 'reason', '')}"


def _paired(
    left: list[_Step], right: list[_Step], keys: Sequence[Callable[[Event], str]], work: DiffWork
) -> list[Pair]:
    """Align by the first key; align what is left between matches by the next key, and the rest by position."""
    if not keys:
        return [Pair(left=step, right=other, same=False) for step, other in zip_longest(left, right)]
    key, *rest = keys
    names, others = ([key(event) for event in side] for side in (left, right))
    pairs: list[Pair] = []
    for what, i, j, m, n in opcodes(names, others, work):
        if what == "equal":
            exact = key is _whole
            pairs += [
                Pair(left=step, right=other, same=exact) for step, other in zip(left[i:j], right[m:n], strict=True)
            ]
        else:
            pairs += _paired(left[i:j], right[m:n], rest, work)
    return pairs
