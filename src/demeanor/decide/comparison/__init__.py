"""The comparison of two sets of trials: cell by cell, and the suite as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.decide.comparison.rules import (
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

__getattr__ = lazy_names(
    __name__,
    {
        "rules": "CompareOutcome Comparison Counts DETECT_LEVEL DETECT_POWER EvalComparison MARGIN Shift compare"
        " p_drop to_look_at_again",
    },
)
