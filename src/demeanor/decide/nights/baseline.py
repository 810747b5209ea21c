"""The baseline of an eval: its nightly results, added up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from demeanor.core.values.history import RunCell
from demeanor.decide.nights.night_cells import count, fingerprints, since_new_model
from demeanor.statistics import NightCorrelation, find_changes, night_correlation

NIGHTS = 20
"""How many nights a baseline covers: 60 trials if a night has three, beyond which the gain is small."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Baseline:
    """The nightly results of an eval with a subject, added up."""

    passed: int
    """Trials that passed."""

    failed: int
    """Trials that failed."""

    nights: int
    """The number of nights."""

    fingerprints: tuple[str, ...] = ()
    """The subject's fingerprints in these nights, oldest first; with more than one, the nights are not comparable."""

    left_out: int = 0
    """The number of earlier nights that are left out, because the model or the rate has changed since."""

    @property
    def judged(self) -> int:
        """The number of trials with a verdict of pass or fail."""
        return self.passed + self.failed

    @property
    def mixed(self) -> bool:
        """Whether nights with different fingerprints were added up; this must be shown next to the rate."""
        return len(self.fingerprints) > 1


def baseline_of(cells: Iterable[RunCell], *, eval_hash: str, began: str | None = None) -> Baseline | None:
    """The sum of the nightly cells of one eval and subject; None if no night ran the eval as it is defined now.

    Nights before an edit of the eval do not count, nor nights with another model, nor those before the night `began`,
    in which its rate changed.
    """
    nights_judged = [cell for cell in cells if cell.kind == "nightly" and cell.judged]
    same = [cell for cell in nights_judged if not eval_hash or cell.eval_hash in {"", eval_hash}]
    by_age = sorted(same, key=lambda cell: (cell.started, cell.run))
    first = next((index for index, cell in enumerate(by_age) if cell.run == began), 0)
    latest = since_new_model(by_age[first:])[-NIGHTS:]
    if not latest:
        return None
    passed, failed = count(latest)
    return Baseline(
        passed=passed,
        failed=failed,
        nights=len(latest),
        fingerprints=fingerprints(latest),
        left_out=len(by_age[-NIGHTS:]) - len(latest),
    )


def correlation_of(cells: Iterable[RunCell]) -> NightCorrelation:
    """How alike the trials of a night are, estimated from the last nights of all these evals and subjects.

    A night from which on the whole suite is different divides them: its evals changed together, or had a bad day.
    """
    by_night: dict[tuple[str, str], list[RunCell]] = {}
    for cell in cells:
        if cell.judged:
            by_night.setdefault((cell.started, cell.run), []).append(cell)
    nights = [by_night[night] for night in sorted(by_night)[-NIGHTS:]]
    suite = [(passed, passed + failed) for passed, failed in map(count, nights)]
    starts = {change.first for change in find_changes([suite])}
    by_cell: dict[tuple[str, str, str, int], list[tuple[int, int]]] = {}
    part = 0
    for number, night in enumerate(nights):
        part += number in starts
        for cell in night:
            by_cell.setdefault((cell.eval, cell.subject, cell.eval_hash, part), []).append((cell.passed, cell.judged))
    return night_correlation(by_cell.values())
