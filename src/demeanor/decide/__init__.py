"""From tallies to decisions, pure: every rule of the product, without a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.decide.baseline import (
        NIGHTS as NIGHTS,
        Baseline as Baseline,
        baseline_of as baseline_of,
        correlation_of as correlation_of,
    )
    from demeanor.decide.change_points import rate_histories as rate_histories
    from demeanor.decide.comparison import (
        DETECT_LEVEL as DETECT_LEVEL,
        DETECT_POWER as DETECT_POWER,
        MARGIN as MARGIN,
        CompareOutcome as CompareOutcome,
        Comparison as Comparison,
        Counts as Counts,
        EvalComparison as EvalComparison,
        Shift as Shift,
        compare as compare,
        p_drop as p_drop,
        to_look_at_again as to_look_at_again,
    )
    from demeanor.decide.night_cells import (
        changes as changes,
        count as count,
        fingerprints as fingerprints,
        since_new_model as since_new_model,
    )
    from demeanor.decide.policies import (
        EXPECTED as EXPECTED,
        decide as decide,
        empty_exit_code as empty_exit_code,
        exit_code as exit_code,
    )
    from demeanor.decide.shifts import (
        NoticedShift as NoticedShift,
        RateShift as RateShift,
        latest_shifts as latest_shifts,
        rate_shifts as rate_shifts,
        shifts_within as shifts_within,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "baseline": "Baseline NIGHTS baseline_of correlation_of",
        "change_points": "rate_histories",
        "comparison": "CompareOutcome Comparison Counts DETECT_LEVEL DETECT_POWER EvalComparison MARGIN Shift compare"
        " p_drop to_look_at_again",
        "night_cells": "changes count fingerprints since_new_model",
        "policies": "EXPECTED decide empty_exit_code exit_code",
        "shifts": "NoticedShift RateShift latest_shifts rate_shifts shifts_within",
    },
)
