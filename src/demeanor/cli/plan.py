"""The plan of a run, printed instead of running it: `--dry-run`."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from demeanor.core.values.run_request import RunRequest
    from demeanor.core.values.trial import Plan
    from demeanor.runner import Catalog


def print_plan(plan: Plan, request: RunRequest, catalog: Catalog, results: Path, *, as_json: bool) -> None:
    """Print what would be run, and what it will probably cost."""
    from demeanor.reports.run import plan_json, plan_text
    from demeanor.results import estimate_plan
    from demeanor.runner import task_environment, tasks_refused

    estimate = estimate_plan(plan, catalog, request, os.environ, results)
    text = plan_json if as_json else partial(plan_text, environment=task_environment(catalog, request, plan))
    print(text(plan, estimate))
    if refused := tasks_refused(catalog, plan):
        sys.stderr.write(f"demeanor: the run itself would be refused: {refused}\n")
