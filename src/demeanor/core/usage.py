"""Add up what attempts used, keeping unknown quantities unknown."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from demeanor.core.evidence import Spent

AT_INPUT_PRICE = "cached tokens are counted at the input price"
"""The end of the note of a trial whose price has no rate for cached tokens."""


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


def price_notes(notes: Iterable[str]) -> tuple[str, ...]:
    """Of the notes of trials: those about prices without a rate for cached tokens, each once."""
    return tuple(dict.fromkeys(note for note in notes if note.endswith(AT_INPUT_PRICE)))


def _sum_known(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
