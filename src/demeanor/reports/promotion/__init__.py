"""Which evals are ready for another policy, and what the others still need."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.reports.promotion.render import (
        commit_message as commit_message,
        promotion_terminal as promotion_terminal,
    )
    from demeanor.reports.promotion.report import (
        PROMOTION_DOCUMENT as PROMOTION_DOCUMENT,
        PromotionReport as PromotionReport,
    )
    from demeanor.reports.promotion.workflow import (
        BEFORE as BEFORE,
        TARGETS as TARGETS,
        Action as Action,
        keep_change as keep_change,
        keep_in_file as keep_in_file,
        make_promotion_report as make_promotion_report,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "render": "commit_message promotion_terminal",
        "report": "PROMOTION_DOCUMENT PromotionReport",
        "workflow": "Action BEFORE TARGETS keep_change keep_in_file make_promotion_report",
    },
)
