"""The plan of a comparison: how many trials detect a drop, and the smallest drop that a number of trials detects."""

from __future__ import annotations

from functools import partial

from demeanor.decide.comparison import DETECT_LEVEL, DETECT_POWER
from demeanor.reports.comparison import ComparisonPlan, DetectableDrop
from demeanor.statistics import (
    Test,
    at_least,
    detectable_drop,
    exact_trials_per_side,
    fails_that_surprise,
    region_of,
    trials_against_known,
    trials_per_side,
)

SIZES = (3, 5, 10, 20, 50, 100)
"""Numbers of trials for which the smallest detectable drop is shown."""

_MAX_BOSCHLOO, _MAX_EXACT = 100, 500
"""With more trials on each side, Boschloo's test takes too long to plan for, and then any exact test."""


def comparison_plan(base: float, new: float, *, trials: int | None = None) -> ComparisonPlan:
    """What it takes to detect a drop from `base` to `new`, and what some numbers of trials detect, `trials` among
    them."""
    about = trials_per_side(base, new, level=DETECT_LEVEL, power=DETECT_POWER)
    each_side = None
    if about <= _MAX_EXACT:
        test = _test(about)
        each_side = exact_trials_per_side(base, new, test=test, level=DETECT_LEVEL, power=DETECT_POWER)
    return ComparisonPlan(
        base=base,
        new=new,
        level=DETECT_LEVEL,
        power=DETECT_POWER,
        each_side=about if each_side is None else each_side,
        exact=each_side is not None,
        known_rate=trials_against_known(base, new, level=DETECT_LEVEL, power=DETECT_POWER),
        drops=tuple(_detectable(size, base) for size in sorted({*SIZES, *([trials] if trials else [])})),
    )


def _test(trials: int) -> Test:
    """The test of a comparison, or one that is slightly more conservative, and fast."""
    return "boschloo" if trials <= _MAX_BOSCHLOO else "fisher"


def _detectable(trials: int, base: float) -> DetectableDrop:
    fails = fails_that_surprise(trials, base, level=DETECT_LEVEL)
    region = region_of(_test(trials), trials, trials, DETECT_LEVEL)
    return DetectableDrop(
        trials=trials,
        each_side=detectable_drop(partial(region.chance, base), base, power=DETECT_POWER),
        known_rate=detectable_drop(lambda rate: at_least(fails, trials, 1 - rate), base, power=DETECT_POWER),
    )
