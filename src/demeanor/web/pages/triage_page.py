"""The failures of a run in as few groups as there are things to fix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from demeanor.core.values.history import PastRun, RunCell
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Pass
from demeanor.reports.failures import Group, group_brief, group_failures, with_commands
from demeanor.results import StoredRun, TrialSteps, load_steps
from demeanor.store.history import SqlHistory
from demeanor.store.runs import place_of
from demeanor.web.pages.context import PageContext

MOST_CELLS = 40
MOST_GROUPS = 30
_EARLIER = 6


def triage_page(context: PageContext, parts: Mapping[str, str], query: Mapping[str, str]) -> dict[str, Any]:
    """The groups of one run, the largest first; of a large run, those of the cells that need attention most."""
    history = context.history()
    run = history.run(parts["run"])
    cells = [cell for cell in context.cells(run.name) if cell.failed or cell.voided]
    cells.sort(key=_attention)
    state = context.state([run.name])
    groups = context.cached(("failures", run.name), state, lambda: _groups(context, history, run, cells[:MOST_CELLS]))
    return {
        "run": run,
        "groups": groups[:MOST_GROUPS],
        "more_groups": max(0, len(groups) - MOST_GROUPS),
        "more_cells": max(0, len(cells) - MOST_CELLS),
        "failed": sum(cell.failed for cell in cells),
        "voided": sum(cell.voided for cell in cells),
        "brief": group_brief,
    }


def _attention(cell: RunCell) -> tuple[bool, float]:
    return cell.policy is Policy.USUALLY_FAILS, cell.passed / cell.judged if cell.judged else 0.5


def _groups(context: PageContext, history: SqlHistory, run: PastRun, cells: Sequence[RunCell]) -> tuple[Group, ...]:
    trials: list[TrialSteps] = []
    others: list[TrialSteps] = []
    for cell in cells:
        records = history.trials(run.name, name=cell.eval, subject=cell.subject)
        trials += _load(context, run, records)
        if cell.failed and not cell.passed:
            others += _earlier_passes(context, history, run, cell)
    stored = StoredRun(info=run.info, records=(), cells=(), place=place_of(run, context.results))
    return tuple(with_commands(group, stored) for group in group_failures(trials, others))


def _load(context: PageContext, run: PastRun, records: Sequence[Record]) -> list[TrialSteps]:
    place, captures = place_of(run, context.results), context.captures()
    return [load_steps(place, record, captures) for record in records]


def _earlier_passes(context: PageContext, history: SqlHistory, run: PastRun, cell: RunCell) -> list[TrialSteps]:
    """Passing trials of the latest earlier run that has any, for a cell without its own."""
    past = history.eval_history(cell.eval, cell.subject)
    earlier = [
        past_cell.run
        for past_cell in past
        if past_cell.passed and past_cell.started < cell.started and past_cell.eval_hash == cell.eval_hash
    ]
    for name in reversed(earlier[-_EARLIER:]):
        trials = history.trials(name, name=cell.eval, subject=cell.subject)
        steps = _load(context, history.run(name), [trial for trial in trials if isinstance(trial.verdict, Pass)])
        if any(step.events is not None for step in steps):
            return steps
    return []
