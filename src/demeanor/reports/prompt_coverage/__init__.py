"""Which instructions of the prompt the evals notice."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.reports.prompt_coverage.render import (
        MEANINGS as MEANINGS,
        ORDER as ORDER,
        cover_markdown as cover_markdown,
        cover_terminal as cover_terminal,
        headline as headline,
        notices as notices,
        promises as promises,
    )
    from demeanor.reports.prompt_coverage.report import (
        COVER_DOCUMENT as COVER_DOCUMENT,
        FOLDER as FOLDER,
        REPORT as REPORT,
        Coverage as Coverage,
        CoveredInstruction as CoveredInstruction,
        CoveringEval as CoveringEval,
        CoverOperator as CoverOperator,
        CoverReport as CoverReport,
        InstructionAnswer as InstructionAnswer,
        NoticedBy as NoticedBy,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "render": "MEANINGS ORDER cover_markdown cover_terminal headline notices promises",
        "report": (
            "COVER_DOCUMENT CoverOperator CoverReport Coverage CoveredInstruction CoveringEval FOLDER "
            "InstructionAnswer NoticedBy REPORT"
        ),
    },
)
