"""Add up what attempts used, keeping unknown quantities unknown."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from demeanor.core.values.evidence import Spent

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


class ExactSum:
    """The sum of floats as `math.fsum` rounds it, without keeping them: what rounding loses is kept as a few further
    floats (Shewchuk's algorithm, which `math.fsum` uses as well)."""

    __slots__ = ("_not_finite", "_parts")

    def __init__(self) -> None:
        self._parts: list[float] = []
        self._not_finite = 0.0

    def add(self, number: float) -> None:
        """Add a number."""
        if not math.isfinite(number):
            self._not_finite += number
            return
        parts = []
        for part in self._parts:
            larger, smaller = (number, part) if abs(number) >= abs(part) else (part, number)
            number = larger + smaller
            lost = smaller - (number - larger)
            if lost:
                parts.append(lost)
        self._parts = [*parts, number]  # a new list, because another thread may be reading the value

    @property
    def value(self) -> float:
        """The sum."""
        return math.fsum(self._parts) + self._not_finite


class RunningTotal:
    """A total that grows part by part. A long run has one all the time, so it keeps no parts."""

    __slots__ = ("_cost", "_counted", "_input", "_output", "_parts", "_priced", "_seconds", "_turns")

    def __init__(self) -> None:
        self._parts = self._priced = self._counted = self._turns = 0
        self._input: int | None = None
        self._output: int | None = None
        self._seconds, self._cost = ExactSum(), ExactSum()

    def add(self, part: Spent) -> None:
        """Add a part."""
        self._parts += 1
        self._turns += part.turns
        self._seconds.add(part.seconds)
        if part.cost_usd is not None:
            self._cost.add(part.cost_usd)
            self._priced += 1
        if part.input_tokens is not None:
            self._input = (self._input or 0) + part.input_tokens
        if part.output_tokens is not None:
            self._output = (self._output or 0) + part.output_tokens
        self._counted += part.input_tokens is not None and part.output_tokens is not None

    @property
    def value(self) -> Total:
        """The total of all parts so far."""
        return Total(
            spent=Spent(
                seconds=self._seconds.value,
                turns=self._turns,
                input_tokens=self._input,
                output_tokens=self._output,
                cost_usd=self._cost.value if self._priced else None,
            ),
            unpriced=self._parts - self._priced,
            uncounted=self._parts - self._counted,
        )


def total(parts: Iterable[Spent]) -> Total:
    """The sum of all parts."""
    running = RunningTotal()
    for part in parts:
        running.add(part)
    return running.value


def price_notes(notes: Iterable[str]) -> tuple[str, ...]:
    """Of the notes of trials: those about prices without a rate for cached tokens, each once."""
    return tuple(dict.fromkeys(note for note in notes if note.endswith(AT_INPUT_PRICE)))
