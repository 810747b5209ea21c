"""Nights: baselines, and when the rate of a cell changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.decide.nights.baseline import (
        NIGHTS as NIGHTS,
        Baseline as Baseline,
        baseline_of as baseline_of,
        correlation_of as correlation_of,
    )
    from demeanor.decide.nights.change_points import rate_histories as rate_histories
    from demeanor.decide.nights.night_cells import (
        changes as changes,
        count as count,
        fingerprints as fingerprints,
        since_new_model as since_new_model,
    )
    from demeanor.decide.nights.shifts import (
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
        "night_cells": "changes count fingerprints since_new_model",
        "shifts": "NoticedShift RateShift latest_shifts rate_shifts shifts_within",
    },
)
