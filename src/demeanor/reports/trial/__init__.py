"""One trial step by step, alone or beside another one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.reports.trial.divergence import (
        NO_SINGLE_STEP as NO_SINGLE_STEP,
        SAME_STEPS as SAME_STEPS,
        Divergence as Divergence,
        explain as explain,
        find_divergence as find_divergence,
        nearest_pass as nearest_pass,
        sort_key as sort_key,
    )
    from demeanor.reports.trial.render import trace_diff as trace_diff, trace_text as trace_text
    from demeanor.reports.trial.rows import AlignedSteps as AlignedSteps, step_rows as step_rows

__getattr__ = lazy_names(
    __name__,
    {
        "divergence": "NO_SINGLE_STEP SAME_STEPS Divergence explain find_divergence nearest_pass sort_key",
        "render": "trace_diff trace_text",
        "rows": "AlignedSteps step_rows",
    },
)
