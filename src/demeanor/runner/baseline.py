"""What a gate may hold against a change: the latest nights of the eval as it is now."""

from __future__ import annotations

from collections.abc import Iterable

from demeanor.core.gate import Baseline
from demeanor.core.history import RunCell
from demeanor.store.history.nights import count, fingerprints

NIGHTS = 20
"""How many nights back it looks: 60 trials where a night has three, beyond which the gain is small."""


def baseline_of(cells: Iterable[RunCell], *, eval_hash: str, nights: int = NIGHTS) -> Baseline | None:
    """The nightly cells of one eval and subject, added up; None where no night knows the eval as it is now.

    Nights of the eval as it was before an edit say nothing about it. Nights with another fingerprint are counted, since
    a change is what the gate is about; but the value says so.
    """
    ours = [cell for cell in cells if cell.kind == "nightly" and cell.judged]
    same = [cell for cell in ours if not eval_hash or cell.eval_hash in {"", eval_hash}]
    latest = sorted(same, key=lambda cell: (cell.started, cell.run))[-nights:]
    if not latest:
        return None
    passed, failed = count(latest)
    return Baseline(passed=passed, failed=failed, nights=len(latest), fingerprints=fingerprints(latest))
