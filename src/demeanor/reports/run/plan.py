"""Renders a plan as text and as JSON, for `--dry-run`."""

from __future__ import annotations

import json

from demeanor.core.text.wording import count
from demeanor.core.values.trial import Plan
from demeanor.results import CellEstimate, PlanEstimate


def plan_text(plan: Plan, estimate: PlanEstimate, environment: str | None = None) -> str:
    """One line per cell, the environment of Harbor tasks if there are any, the expected cost and the totals."""
    names = max((len(cell.eval.name) for cell in plan.cells), default=0)
    subjects = max((len(str(cell.subject)) for cell in plan.cells), default=0)
    lines = []
    for cell in plan.cells:
        what = f"{len(cell.trials)} x {cell.trials[0].timeout:g} s" if cell.trials else "no trial"
        what = f"skipped: {cell.skipped}" if cell.skipped else what
        lines.append(f"{cell.eval.name:<{names}}  {cell.subject!s:<{subjects}}  {cell.eval.policy:<14}  {what}")
    skipped = sum(1 for cell in plan.cells if cell.skipped)
    left_out = f", {skipped} skipped" if skipped else ""
    tasks = sum(1 for cell in plan.cells if cell.eval.task is not None)
    where = [f"{count(tasks, 'cell')} of whole tasks, run in {environment}"] if environment else []
    where.append(estimate.text)
    cells = count(len(plan.cells), "cell")
    return "\n".join([*lines, "", *where, f"{cells}{left_out}, {count(plan.size, 'trial')}; nothing was run"])


def plan_json(plan: Plan, estimate: PlanEstimate) -> str:
    """The cells of a plan as JSON, with the expected cost and tokens (null if no earlier run tells them)."""
    unknown = CellEstimate()
    cells = [
        {
            "eval": cell.eval.name,
            "subject": str(cell.subject),
            "policy": cell.eval.policy.value,
            "layer": cell.layer,
            "trials": len(cell.trials),
            "timeout": cell.trials[0].timeout if cell.trials else None,
            "skipped": cell.skipped,
            "expected_cost_usd": estimate.cells.get(cell.id, unknown).cost_usd,
            "expected_tokens": estimate.cells.get(cell.id, unknown).tokens,
        }
        for cell in plan.cells
    ]
    expected = {"expected_cost_usd": estimate.cost_usd, "expected_tokens": estimate.tokens}
    return json.dumps({"cells": cells, "trials": plan.size, **expected}, indent=2)
