"""The board: which evals are ready for another policy, and what the others still need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from demeanor.core.values.errors import DemeanorError
from demeanor.reports.promotion import PromotionReport, make_promotion_report
from demeanor.runner import Catalog
from demeanor.store.history import newest_state
from demeanor.web.pages.context import PageContext

MOST = 100
NIGHTS = 10


def board_page(context: PageContext, parts: Mapping[str, str], query: Mapping[str, str]) -> dict[str, Any]:
    """Candidates for promotion and for demotion, those that are ready first."""
    evals, why_not = context.evals()
    history = context.history()

    def make() -> tuple[PromotionReport | None, PromotionReport | None, str]:
        catalog = Catalog(config=context.config, environ=context.environ)
        try:
            reports = [make_promotion_report(history, catalog, tuple(evals.values()), a) for a in ("promote", "demote")]
            return reports[0], reports[1], ""
        except DemeanorError as error:
            return None, None, str(error)

    promote, demote, problem = context.cached("board", newest_state(history), make) if evals else (None, None, why_not)
    reports = [report for report in (promote, demote) if report]
    shown = {candidate.eval for report in reports for candidate in report.candidates[:MOST]}
    return {
        "reports": reports,
        "tried": {name for name in shown if history.eval_history(name)},
        "problem": problem or ("" if evals else "There are no evals in this folder."),
        "most": MOST,
        "nights": NIGHTS,
    }
