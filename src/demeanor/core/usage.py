"""Add up what attempts used, keeping unknown quantities unknown."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from demeanor.core.evidence import Spent


class Total(NamedTuple):
    """The total usage, and how many parts of it are unknown."""

    spent: Spent
    """The sum of the known quantities; a quantity that is unknown for all parts is None."""

    unpriced: int
    """The number of parts of unknown cost."""

    uncounted: int
    """The number of parts with an incomplete token count."""


def total(parts: Iterable[Spent]) -> Total:
    """The sum of all parts."""
    found = list(parts)
    costs = [part.cost_usd for part in found if part.cost_usd is not None]
    return Total(
        spent=Spent(
            seconds=math.fsum(part.seconds for part in found),
            turns=sum(part.turns for part in found),
            input_tokens=_sum_known(part.input_tokens for part in found),
            output_tokens=_sum_known(part.output_tokens for part in found),
            cost_usd=math.fsum(costs) if costs else None,
        ),
        unpriced=len(found) - len(costs),
        uncounted=sum(part.input_tokens is None or part.output_tokens is None for part in found),
    )


def _sum_known(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
