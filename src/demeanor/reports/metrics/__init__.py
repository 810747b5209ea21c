"""pass@k, pass^k and flakiness of runs, and the classes of their failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.reports.metrics.pattern_file import read_patterns as read_patterns
    from demeanor.reports.metrics.render import analysis_terminal as analysis_terminal
    from demeanor.reports.metrics.report import ANALYSIS_DOCUMENT as ANALYSIS_DOCUMENT, analysis as analysis
    from demeanor.reports.metrics.workflow import sources_of as sources_of

__getattr__ = lazy_names(
    __name__,
    {
        "pattern_file": "read_patterns",
        "render": "analysis_terminal",
        "report": "ANALYSIS_DOCUMENT analysis",
        "workflow": "sources_of",
    },
)
