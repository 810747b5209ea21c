"""The error rates of the rule `screen`, exact: summed over all pasts that a cell may have had and all fresh trials."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import fsum

from demeanor.commands.gate.always import RATES
from demeanor.commands.gate.screen_cell import FRESH, LEVEL, SCREEN, p_value
from demeanor.core.error_rates import ErrorRates, Operating
from demeanor.core.percent import rate as percent
from demeanor.core.percent import share
from demeanor.statistics.beta_binomial import JEFFREYS
from demeanor.statistics.binomial import table
from demeanor.statistics.operating import Operation, operate

PAST_TRIALS = 60
PAST_RATE = 0.95
_CROWD = 20
_SHORT = 21


def characteristics(rates: Sequence[float] = RATES, *, base: float = PAST_RATE) -> ErrorRates:
    """How often a cell is rejected whose past, in twenty nights, had the rate `base`."""
    rows = [
        Operating(rate=rate, chance=reject(rate, past_rate=base), trials=mean_trials(rate, past_rate=base))
        for rate in rates
    ]
    crowd = " and ".join(
        f"to {percent(rate)} in {share(reject(rate, past_rate=base, family=_CROWD))}"
        for rate in (0.8, 0.5)
        if rate < base
    )
    notes = [f"as the only bad one of {_CROWD} escalated cells it sees a fall {crowd} of all cases"] if crowd else []
    if base > 0.5:
        shorter = reject(0.5, past=_SHORT, past_rate=base)
        notes.append(f"with a past of {_SHORT} trials only, it sees a fall to 50 % in {share(shorter)} of all cases")
    return ErrorRates(
        rule="screen",
        action="reject",
        about=(
            f"USUALLY_PASSES: {SCREEN} passes are fine; else up to {FRESH} fresh trials, held against the cell's own "
            f"nights, at most {percent(LEVEL)} false alarms among the rejected"
        ),
        setting=f"one eval with one subject, alone, whose past is {PAST_TRIALS} trials at {percent(base)}",
        rows=tuple(rows),
        notes=tuple(notes),
    )


def reject(rate: float, *, past: int = PAST_TRIALS, past_rate: float = PAST_RATE, family: int = 1) -> float:
    """How often a cell of this true rate is rejected, if it is the only bad one of so many escalated cells."""
    return fsum(weight * found.chance("reject") for weight, found in _cases(rate, past, past_rate, family)) * (
        1 - rate**SCREEN
    )


def mean_trials(rate: float, *, past: int = PAST_TRIALS, past_rate: float = PAST_RATE) -> float:
    """How many trials it takes on average."""
    screened = fsum(rate**k for k in range(SCREEN))
    return screened + (1 - rate**SCREEN) * fsum(w * found.trials for w, found in _cases(rate, past, past_rate, 1))


def _cases(rate: float, past: int, past_rate: float, family: int) -> list[tuple[float, Operation]]:
    """For each past, how likely it is and how the fresh trials then end; pasts with the same edge are one case."""
    weights: dict[int, float] = {}
    for passed, weight in enumerate(table(past, past_rate)):
        edge = _edge(passed, past - passed, LEVEL / family)
        weights[edge] = weights.get(edge, 0.0) + weight
    return [(weight, _fresh(edge, rate)) for edge, weight in weights.items()]


@lru_cache(maxsize=4096)
def _edge(passed: int, failed: int, level: float) -> int:
    """The most passes among the fresh trials that are still too few; -1 where none are."""
    belief = JEFFREYS.after(passed, failed)
    return max((k for k in range(FRESH + 1) if p_value(k, belief) <= level), default=-1)


@lru_cache(maxsize=256)
def _fresh(edge: int, rate: float) -> Operation:
    def stop(passed: int, failed: int) -> str | None:
        if passed > edge:
            return "accept"
        return "reject" if FRESH - failed <= edge else None

    return operate(stop, rate, cap=FRESH)
