"""Everything that `demeanor power` tells, from exact numbers."""

from __future__ import annotations

from functools import partial

from demeanor.commands.gate import always
from demeanor.commands.gate.rules import RULES
from demeanor.commands.power.values import DetectableDrop, PowerReport
from demeanor.commands.promote.rules import DEMOTE, PROMOTE
from demeanor.statistics.binomial import at_least
from demeanor.statistics.power import (
    detectable_drop,
    exact_trials_per_side,
    fails_that_surprise,
    region_of,
    suite_power,
    trials_against_known,
    trials_per_side,
)
from demeanor.statistics.sprt import Sprt

SIZES = (3, 5, 10, 20, 30, 50, 100)
"""Numbers of trials for which the smallest visible drop is told."""

_MOST_EXACT = 500
"""Beyond so many trials on each side the exact number takes too long, and the approximation is good."""


def power_report(
    base: float,
    new: float,
    *,
    level: float = 0.05,
    power: float = 0.8,
    history: int = 60,
    trials: int | None = None,
    evals: int | None = None,
    subjects: int = 1,
    cost_usd: float | None = None,
) -> PowerReport:
    """What it takes to see a drop from `base` to `new`, and what the rules make of it."""
    about = trials_per_side(base, new, level=level, power=power)
    known = trials_against_known(base, new, level=level, power=power)
    test = Sprt(good=base, bad=new, miss_good=level, miss_bad=1 - power)
    rates = (base, new)
    sizes = sorted({*SIZES, *([trials] if trials else [])})
    suite = (evals, trials or 3) if evals else None
    return PowerReport(
        base=base,
        new=new,
        level=level,
        power=power,
        history=history,
        known=(known.trials, known.fails) if known else None,
        each_side=exact_trials_per_side(base, new, test="fisher", level=level, power=power)
        if about <= _MOST_EXACT
        else None,
        each_side_about=about,
        sequential=(test.operation(base).trials, test.operation(new).trials),
        visible=tuple(_visible(size, base, history, level=level, power=power) for size in sizes),
        gate=(
            always.error_rates(rates),
            *(rule.error_rates(rates, base=base) for rule in RULES.values()),
        ),
        promote=tuple(rule.error_rates(rates, subjects=subjects) for rule in PROMOTE.values()),
        demote=tuple(rule.error_rates(rates, subjects=subjects) for rule in DEMOTE.values()),
        suite=(*suite, suite_power(base, new, evals=suite[0], trials=suite[1], level=level)) if suite else None,
        cost_usd=cost_usd,
    )


def _visible(trials: int, base: float, history: int, *, level: float, power: float) -> DetectableDrop:
    fails = fails_that_surprise(trials, base, level=level)
    region = region_of("boschloo", history, trials, level)
    return DetectableDrop(
        trials=trials,
        known=detectable_drop(lambda rate: at_least(fails, trials, 1 - rate), base, power=power),
        history=detectable_drop(partial(region.chance, base), base, power=power),
    )
