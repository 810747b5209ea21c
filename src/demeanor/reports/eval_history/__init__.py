"""The pass rate of one eval over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.reports.eval_history.render import history_terminal as history_terminal
    from demeanor.reports.eval_history.report import (
        HISTORY_DOCUMENT as HISTORY_DOCUMENT,
        PastCell as PastCell,
        SubjectHistory as SubjectHistory,
        eval_history as eval_history,
    )
    from demeanor.reports.eval_history.workflow import make_eval_history as make_eval_history

__getattr__ = lazy_names(
    __name__,
    {
        "render": "history_terminal",
        "report": "HISTORY_DOCUMENT PastCell SubjectHistory eval_history",
        "workflow": "make_eval_history",
    },
)
