"""What a change costs: money, tokens, turns and time per judged trial, eval by eval."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypedDict

from demeanor.commands.compare.values import Shift
from demeanor.core.history import RunCell
from demeanor.statistics.paired import paired_difference


class Shifts(TypedDict):
    """The differences by name."""

    cost_usd: Shift | None
    tokens: Shift | None
    turns: Shift | None
    seconds: Shift | None


def spent_shifts(pairs: Mapping[tuple[str, str], tuple[list[RunCell], list[RunCell]]]) -> Shifts:
    """The mean differences per judged trial. What void attempts used counts too: it was paid for.

    A lower bound is no number to compare: where some of it is not known, the eval is left out.
    """
    return Shifts(
        cost_usd=_shift(pairs, lambda cell: None if cell.unpriced else cell.spent.cost_usd),
        tokens=_shift(pairs, lambda cell: None if cell.uncounted else cell.spent.tokens),
        turns=_shift(pairs, lambda cell: cell.spent.turns),
        seconds=_shift(pairs, lambda cell: cell.spent.seconds),
    )


def _shift(
    pairs: Mapping[tuple[str, str], tuple[list[RunCell], list[RunCell]]], of: Callable[[RunCell], float | None]
) -> Shift | None:
    """The paired difference over the evals for which the number is known on both sides."""
    known: dict[str, list[tuple[float, float]]] = {}
    for (name, _), (base, new) in pairs.items():
        before, after = _per_trial(base, of), _per_trial(new, of)
        if before is not None and after is not None:
            known.setdefault(name, []).append((before, after))
    if not known:
        return None
    a, b = ([sum(pair[side] for pair in strata) / len(strata) for strata in known.values()] for side in (0, 1))
    found = paired_difference(a, b)
    before, after = sum(a) / len(a), sum(b) / len(b)
    return Shift(
        base=before,
        new=after,
        value=after - before,
        low=found.low if found else None,
        high=found.high if found else None,
        evals=len(known),
    )


def _per_trial(cells: Sequence[RunCell], of: Callable[[RunCell], float | None]) -> float | None:
    amounts = [(of(cell), cell.judged) for cell in cells if cell.judged or cell.voided]
    if any(amount is None for amount, _ in amounts):
        return None
    return sum(amount for amount, _ in amounts if amount is not None) / sum(judged for _, judged in amounts)
