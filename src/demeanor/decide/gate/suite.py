"""The error rates of a whole gate: how often it blocks a healthy change, and detects a drop of one cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum, log1p

from demeanor.core.text.percent import share
from demeanor.core.text.wording import count
from demeanor.core.values.error_rates import Operating

TOO_OFTEN = 0.05
"""A gate that blocks more healthy changes than this is worth a proposal."""

_FAR, _RARE = 5, 0.01
"""Ends that differ by more than this factor are shown in place of the rate; one in a hundred or less is the same."""

ADVISED = 3
"""The number of fresh trials that a report proposes to confirm rejections with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteRates:
    """The error rates of all cells of a gate together."""

    cells: int
    """The number of cells that can block a change."""

    confirm: int
    """Fresh trials that confirm a rejection."""

    blocks: float
    """The probability that a healthy change is blocked."""

    small_drop: float | None
    """The probability that the change is blocked because one USUALLY_PASSES cell dropped by a sixth (95 to 80 %)."""

    large_drop: float | None
    """The same for a drop by almost a half (95 to 50 %)."""

    trials: float
    """The mean number of trials of a healthy change."""

    least: float = 0.0
    """The lower end of what the cells' trials leave open for `blocks` (90 %)."""

    most: float = 0.0
    """The upper end."""

    @property
    def vague(self) -> bool:
        """Whether the trials hardly tell how often a healthy change is blocked."""
        return self.most > _FAR * max(self.least, _RARE)


@dataclass(frozen=True, kw_only=True, slots=True)
class CellOdds:
    """The error rates of one cell, or of `cells` that have the same."""

    healthy: Operating
    """If nothing changed."""

    small_drop: Operating | None = None
    """After a drop by a sixth; None for ALWAYS_PASSES."""

    large_drop: Operating | None = None
    """After a drop by almost a half; None for ALWAYS_PASSES."""

    cells: int = 1
    """The number of such cells."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GateSuite:
    """The error rates of a gate, and what confirmation would change."""

    now: SuiteRates
    """As it is configured."""

    proposed: SuiteRates | None = None
    """With confirmation by fresh trials; None if it is configured already."""

    def sentences(self) -> tuple[str, ...]:
        """For reports: the rates, and a proposal if healthy changes are blocked too often."""
        now, proposed = self.now, self.proposed
        sentences = [
            f"With {count(now.cells, 'cell')} at the rates of their nights, this gate blocks a healthy change in "
            f"{share(now.blocks)} of cases{_detects(now)}"
        ]
        if proposed is not None and now.blocks > TOO_OFTEN:
            more = f"{proposed.trials - now.trials:.1f}"
            sentences.append(
                f"Set `confirm = {proposed.confirm}` in [gate] to block a healthy change in {share(proposed.blocks)} "
                f"of cases, for {more}" + f" more trials per gate{_detects(proposed)}"
            )
        return tuple(sentences)


def _detects(rates: SuiteRates) -> str:
    if rates.small_drop is None or rates.large_drop is None:
        return ""
    return (
        f"; it detects a drop of one cell by a sixth (95 to 80 %) with probability {share(rates.small_drop)}, "
        f"by almost a half (95 to 50 %) with {share(rates.large_drop)}"
    )


def suite_rates(odds: Sequence[CellOdds], *, confirm: int = 0) -> SuiteRates:
    """The error rates of all cells together. Cells are independent: sharing evidence never rejects a first cell."""
    return SuiteRates(
        cells=sum(group.cells for group in odds),
        confirm=confirm,
        blocks=1 - exp(fsum(group.cells * log1p(-min(group.healthy.chance, 1 - 1e-12)) for group in odds)),
        small_drop=_mean([(group.cells, group.small_drop) for group in odds]),
        large_drop=_mean([(group.cells, group.large_drop) for group in odds]),
        trials=fsum(group.cells * (group.healthy.trials or 0.0) for group in odds),
    )


def _mean(rows: Sequence[tuple[int, Operating | None]]) -> float | None:
    chances = [(cells, row.chance) for cells, row in rows if row is not None]
    total = sum(cells for cells, _ in chances)
    return fsum(cells * chance for cells, chance in chances) / total if total else None
