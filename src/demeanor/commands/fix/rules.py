"""Is it mended? What the answers of several cells amount to; and which evals stand guard meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal

from demeanor.config.fix import Guard
from demeanor.core.eval import Eval
from demeanor.core.policy import Policy
from demeanor.core.tally import Decision


def standing(decisions: Iterable[Decision]) -> Literal["accept", "reject", "undecided"]:
    """One reject is enough; short of that, one cell without an answer, or none at all, leaves it open."""
    answers = {decision.answer for decision in decisions} - {"skipped"}
    if "reject" in answers:
        return "reject"
    return "undecided" if "undecided" in answers or not answers else "accept"


def guard_suite(evals: Iterable[Eval], guard: Guard, *, but: Collection[str]) -> tuple[str, ...]:
    """The names of the other evals that must not get worse; a name that is asked for is taken as it is."""
    if isinstance(guard, tuple):
        return tuple(name for name in guard if name not in but)
    wanted = {
        "always": {Policy.ALWAYS_PASSES},
        "all": {Policy.ALWAYS_PASSES, Policy.USUALLY_PASSES},
        "none": set[Policy](),
    }[guard]
    return tuple(one.name for one in evals if one.policy in wanted and one.name not in but)
