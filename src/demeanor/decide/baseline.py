"""The baseline of an eval: its nightly results, added up."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from demeanor.core.values.history import RunCell
from demeanor.decide.night_cells import count, fingerprints, since_new_model

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
    """The number of earlier nights that are left out, because the subject has changed since."""

    @property
    def judged(self) -> int:
        """The number of trials with a verdict of pass or fail."""
        return self.passed + self.failed

    @property
    def mixed(self) -> bool:
        """Whether nights with different fingerprints were added up; this must be shown next to the rate."""
        return len(self.fingerprints) > 1


def baseline_of(cells: Iterable[RunCell], *, eval_hash: str) -> Baseline | None:
    """The sum of the nightly cells of one eval and subject; None if no night ran the eval as it is defined now.

    Nights before an edit of the eval do not count, nor nights with another model.
    """
    nights_judged = [cell for cell in cells if cell.kind == "nightly" and cell.judged]
    same = [cell for cell in nights_judged if not eval_hash or cell.eval_hash in {"", eval_hash}]
    found = sorted(same, key=lambda cell: (cell.started, cell.run))
    latest = since_new_model(found)[-NIGHTS:]
    if not latest:
        return None
    passed, failed = count(latest)
    return Baseline(
        passed=passed,
        failed=failed,
        nights=len(latest),
        fingerprints=fingerprints(latest),
        left_out=len(found[-NIGHTS:]) - len(latest),
    )
