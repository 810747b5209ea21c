"""The report of a night and the nights before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.reports.night.build import failing as failing, night_report as night_report
    from demeanor.reports.night.junit import night_junit as night_junit
    from demeanor.reports.night.markdown import night_markdown as night_markdown
    from demeanor.reports.night.near import near_of_night as near_of_night
    from demeanor.reports.night.report import (
        NIGHTS_DOCUMENT as NIGHTS_DOCUMENT,
        BatchNights as BatchNights,
        FailingCell as FailingCell,
        FailureMode as FailureMode,
        Mark as Mark,
        NightCell as NightCell,
        NightReport as NightReport,
        NightRow as NightRow,
        NightTotal as NightTotal,
        SubjectNights as SubjectNights,
    )
    from demeanor.reports.night.rows import night_cells as night_cells, tally_of as tally_of
    from demeanor.reports.night.shift_scan import prepare_shifts as prepare_shifts, shifts_are_ready as shifts_are_ready
    from demeanor.reports.night.step_pairs import TrialStepsPair as TrialStepsPair, load_step_pairs as load_step_pairs
    from demeanor.reports.night.terminal import (
        MOST_ROWS as MOST_ROWS,
        night_terminal as night_terminal,
        sparkline as sparkline,
    )
    from demeanor.reports.night.workflow import make_night_report as make_night_report

__getattr__ = lazy_names(
    __name__,
    {
        "build": "failing night_report",
        "junit": "night_junit",
        "markdown": "night_markdown",
        "near": "near_of_night",
        "report": (
            "BatchNights FailingCell FailureMode Mark NIGHTS_DOCUMENT NightCell NightReport NightRow NightTotal"
            " SubjectNights"
        ),
        "rows": "night_cells tally_of",
        "shift_scan": "prepare_shifts shifts_are_ready",
        "step_pairs": "TrialStepsPair load_step_pairs",
        "terminal": "MOST_ROWS night_terminal sparkline",
        "workflow": "make_night_report",
    },
)
