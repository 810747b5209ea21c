"""Two versions side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.reports.comparison.operands import (
        chosen_cells as chosen_cells,
        sides_of as sides_of,
        without_shared as without_shared,
    )
    from demeanor.reports.comparison.render import (
        all_notes as all_notes,
        compare_markdown as compare_markdown,
        compare_terminal as compare_terminal,
    )
    from demeanor.reports.comparison.report import (
        COMPARE_DOCUMENT as COMPARE_DOCUMENT,
        PLAN_DOCUMENT as PLAN_DOCUMENT,
        CompareReport as CompareReport,
        ComparisonPlan as ComparisonPlan,
        DetectableDrop as DetectableDrop,
        Side as Side,
        make_comparison as make_comparison,
    )
    from demeanor.reports.comparison.versions import latest_versions as latest_versions

__getattr__ = lazy_names(
    __name__,
    {
        "operands": "chosen_cells sides_of without_shared",
        "render": "all_notes compare_markdown compare_terminal",
        "report": "COMPARE_DOCUMENT CompareReport ComparisonPlan DetectableDrop PLAN_DOCUMENT Side make_comparison",
        "versions": "latest_versions",
    },
)
