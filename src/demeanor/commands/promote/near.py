"""Which evals are near their promotion."""

from __future__ import annotations

from collections.abc import Iterable

from demeanor.commands.promote.report import Candidate

_NEAR = 5
"""An eval is near its promotion if it needs at most this many further nights: half of the shortest incubation."""

_MOST = 5


def near_promotion(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """The evals that are ready, then those that need only a few further nights."""
    ready = {"promote": 0, "wait": _NEAR}
    found = [one for one in candidates if one.answer in ready and one.distance <= ready[one.answer]]
    return tuple(sorted(found, key=lambda one: (one.answer, one.distance))[:_MOST])
