"""The suite as a whole: small falls everywhere, which no single eval can show, add up here."""

from __future__ import annotations

from collections.abc import Mapping

from demeanor.commands.compare.values import Counts, Shift
from demeanor.statistics.paired import Count, paired_rates


def suite_shift(scores: Mapping[tuple[str, str], tuple[Counts, Counts]], *, level: float = 0.95) -> Shift | None:
    """The mean difference of pass rates: each eval weighs the same, its subjects are averaged within it."""
    strata: dict[str, tuple[list[Count], list[Count]]] = {}
    for (name, _), (base, new) in scores.items():
        ours, theirs = strata.setdefault(name, ([], []))
        ours.append(base)
        theirs.append(new)
    if not strata:
        return None
    a, b = [pair[0] for pair in strata.values()], [pair[1] for pair in strata.values()]
    before, after = _mean(a), _mean(b)
    found = paired_rates(a, b, level=level)
    return Shift(
        base=before,
        new=after,
        value=after - before,
        low=found.low if found else None,
        high=found.high if found else None,
        evals=len(strata),
        level=level,
    )


def _mean(evals: list[list[Count]]) -> float:
    return sum(sum(passed / judged for passed, judged in strata) / len(strata) for strata in evals) / len(evals)
