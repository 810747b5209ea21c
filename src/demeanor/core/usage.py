"""Adding up what attempts used without claiming to know what nobody said."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from demeanor.core.evidence import Spent


class Total(NamedTuple):
    """A sum of what was used, and how much of it is unknown."""

    spent: Spent
    """The sum of what is known; a quantity that nobody knew anything of is None."""

    unpriced: int
    """How many of the parts have no known cost."""

    uncounted: int
    """How many of the parts have no full count of tokens."""


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
