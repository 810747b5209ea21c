"""Start each agent in the sandbox, with a scripted model, so that no paid model is called."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from demeanor.commands.run.interrupts import make_ui
from demeanor.core.checks import FunctionCheck
from demeanor.core.eval import Eval, Source
from demeanor.core.policy import Policy
from demeanor.core.record import Record
from demeanor.core.run_request import RunRequest
from demeanor.core.scenario import Scenario
from demeanor.core.temp_names import temp_prefix
from demeanor.runner.catalog import SCRIPTED, Catalog
from demeanor.runner.execute import execute, prepare
from demeanor.runner.plan import plan_evals

_TIMEOUT = 60.0


def start_agents(catalog: Catalog, names: Sequence[str]) -> Mapping[str, Record]:
    """Start each agent once and give it a simple prompt: name → the record of its trial.

    Agents that do not use the gateway are started only in a sandbox that keeps them from the network.
    """
    isolated = catalog.config.sandbox != "none"
    subjects = [
        f"{name}:{SCRIPTED}" if catalog.agent(name).dialect else name
        for name in names
        if catalog.agent(name).dialect or isolated
    ]
    if not subjects:
        return {}
    quick = replace(catalog, config=replace(catalog.config, attempts=1))
    request = RunRequest(subjects=tuple(subjects), policy="all", trials=1)
    with tempfile.TemporaryDirectory(prefix=temp_prefix()) as folder:
        plan = plan_evals(quick, [_eval()], request, catalog.environ)
        run = prepare(quick, plan, request, Path(folder), in_history=False)
        result = execute(run, ui=make_ui(quiet=True))
    if result.interrupted:
        raise KeyboardInterrupt
    return {record.subject.partition(":")[0]: record for record in result.records}


def _eval() -> Eval:
    return Eval(
        name="starts",
        policy=Policy.USUALLY_PASSES,
        scenario=Scenario(prompts=("Say hello.",), timeout=_TIMEOUT),
        checks=(FunctionCheck(function=_accept),),
        source=Source(path=Path(__file__), line=1),
    )


def _accept(rig: object, result: str) -> None:
    """Only the start is of interest."""
