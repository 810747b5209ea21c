"""Start each agent in the sandbox, with a scripted model, so that no paid model is called."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from demeanor.cli import make_ui
from demeanor.core.trees.temp_names import temp_prefix
from demeanor.core.values.record import Record
from demeanor.core.values.run_request import RunRequest
from demeanor.runner import Catalog, execute, plan_evals, prepare, start_eval, start_subjects


def start_agents(catalog: Catalog, names: Sequence[str]) -> Mapping[str, Record]:
    """Start each agent once and give it a simple prompt: name → the record of its trial."""
    subjects = start_subjects(catalog, names, isolated=catalog.config.sandbox != "none")
    if not subjects:
        return {}
    quick = replace(catalog, config=replace(catalog.config, attempts=1))
    request = RunRequest(subjects=tuple(subjects), policy="all", trials=1)
    with tempfile.TemporaryDirectory(prefix=temp_prefix()) as folder:
        plan = plan_evals(quick, [start_eval()], request, catalog.environ)
        run = prepare(quick, plan, request, Path(folder), in_history=False)
        result = execute(run, ui=make_ui(quiet=True, kept=False))
    if result.interrupted:
        raise KeyboardInterrupt
    return {record.subject.partition(":")[0]: record for record in result.records}
