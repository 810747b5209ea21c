"""The error rates of an eval's judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.reports.calibration.recheck import recheck_judges as recheck_judges
    from demeanor.reports.calibration.render import calibration_terminal as calibration_terminal
    from demeanor.reports.calibration.report import CALIBRATION_DOCUMENT as CALIBRATION_DOCUMENT
    from demeanor.reports.calibration.workflow import calibrate as calibrate

__getattr__ = lazy_names(
    __name__,
    {
        "recheck": "recheck_judges",
        "render": "calibration_terminal",
        "report": "CALIBRATION_DOCUMENT",
        "workflow": "calibrate",
    },
)
