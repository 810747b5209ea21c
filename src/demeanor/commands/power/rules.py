"""The calculations of `demeanor power`; all are exact."""

from __future__ import annotations

from functools import partial

from demeanor.commands.power.report import DetectableDrop, GatePlan, PowerReport
from demeanor.decide.gate.always import error_rates as always_error_rates
from demeanor.decide.gate.effort import EFFORTS, STANDARD
from demeanor.decide.gate.rules import VARIANTS
from demeanor.decide.gate.suite import ADVISED, always_odds, suite_rates, usual_odds
from demeanor.decide.promotion.rules import DEMOTE, PROMOTE
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
"""Numbers of trials for which the smallest detectable drop is shown."""

_MAX_EXACT = 500
"""With more trials on each side, the exact calculation takes too long, and the approximation is good."""


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
    gates: tuple[GatePlan, ...] = (),
) -> PowerReport:
    """What it takes to detect a drop from `base` to `new`, and how the rules react to it."""
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
        if about <= _MAX_EXACT
        else None,
        each_side_about=about,
        sequential=(test.operation(base).trials, test.operation(new).trials),
        visible=tuple(_detectable(size, base, history, level=level, power=power) for size in sizes),
        gate=(
            always_error_rates(rates),
            *(rule.error_rates(rates, base=base, past=history) for rule in VARIANTS),
        ),
        promote=tuple(rule.error_rates(rates, subjects=subjects) for rule in PROMOTE.values()),
        demote=tuple(rule.error_rates(rates, subjects=subjects) for rule in DEMOTE.values()),
        suite=(*suite, suite_power(base, new, evals=suite[0], trials=suite[1], level=level)) if suite else None,
        cost_usd=cost_usd,
        gates=gates,
    )


def gate_plans(base: float, *, usual: int, always: int, always_rate: float, history: int) -> tuple[GatePlan, ...]:
    """How a gate of many healthy cells behaves, for each effort, without and with confirmation of rejections."""
    fixed = [always_odds(always_rate, cells=always)] if always else []
    found = []
    for effort in EFFORTS.values() if usual else [STANDARD]:
        odds = [*fixed, *([usual_odds(base, effort, past=history, cells=usual)] if usual else [])]
        found += [GatePlan(effort=effort.name, rates=suite_rates(odds, confirm=confirm)) for confirm in (0, ADVISED)]
    return tuple(found)


def _detectable(trials: int, base: float, history: int, *, level: float, power: float) -> DetectableDrop:
    fails = fails_that_surprise(trials, base, level=level)
    region = region_of("boschloo", history, trials, level)
    return DetectableDrop(
        trials=trials,
        known=detectable_drop(lambda rate: at_least(fails, trials, 1 - rate), base, power=power),
        history=detectable_drop(partial(region.chance, base), base, power=power),
    )
