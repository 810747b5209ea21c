"""The overview: the last night, what needs attention in it, and the nights before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from demeanor.core.values.errors import DemeanorError
from demeanor.core.values.history import PastRun
from demeanor.decide.promotion import Candidate, near_promotion
from demeanor.reports.night import make_night_report, shifts_are_ready
from demeanor.reports.promotion import make_promotion_report
from demeanor.results import nights_until
from demeanor.runner import Catalog
from demeanor.store.history import SqlHistory
from demeanor.web.night_view import NightView, night_view
from demeanor.web.pages.context import PageContext

NIGHTS = 13
_MOST_SHIFTS = 8


def overview_page(context: PageContext, parts: Mapping[str, str], query: Mapping[str, str]) -> dict[str, Any]:
    """The latest night, or else the latest run; `?run=` names another, `?rows=all` shows every eval."""
    history = context.history()
    newest = history.runs(kind="nightly", limit=1) or history.runs(limit=1)
    if not query.get("run") and not newest:
        return {
            "view": None,
            "complete": True,
            "where": context.address if "@" not in context.address else history.database.label,
        }
    run = history.run(query["run"]) if query.get("run") else newest[0]
    nights = nights_until(history, run, NIGHTS)
    state = context.state([name for night in nights for name in night.names])
    whole = query.get("rows") == "all"
    key = ("night", run.name, whole)
    view, complete = None, True
    if shifts_are_ready(history, nights[-1]):
        view = context.cached(key, state, lambda: _view(context, history, run, whole=whole))
    else:
        view = context.in_background(key, state, lambda: _view(context, context.history(), run, whole=whole))
        complete = view is not None
    if view is None:
        quick = ("night without changes", run.name, whole)
        view = context.cached(quick, state, lambda: _view(context, history, run, whole=whole, changes=False))
    return {
        "view": view,
        "complete": complete,
        "where": "",
        "runs": nights[-1].runs,
        "near": _near_promotion(context, history, state),
        "most_shifts": _MOST_SHIFTS,
        "whole": whole,
    }


def _view(context: PageContext, history: SqlHistory, run: PastRun, *, whole: bool, changes: bool = True) -> NightView:
    report = make_night_report(history, run, context.config, nights=NIGHTS, details=0, changes=changes)
    view = night_view(report, whole=whole)
    # The report itself is large, and a page needs only its run.
    return replace(view, report=replace(view.report, subjects=(), nights=view.report.nights[-1:]))


def _near_promotion(context: PageContext, history: SqlHistory, state: object) -> tuple[Candidate, ...]:
    """The evals that are ready or need only a few further nights; none if the project's evals can't be read."""
    evals, _ = context.evals()
    if not evals:
        return ()

    def make() -> tuple[Candidate, ...]:
        catalog = Catalog(config=context.config, environ=context.environ)
        try:
            report = make_promotion_report(history, catalog, tuple(evals.values()), "promote")
        except DemeanorError:
            return ()  # the board says why
        return near_promotion(report.candidates)

    return context.cached("near", state, make)
