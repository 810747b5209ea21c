"""The eval that only starts an agent, with a scripted model, so that no paid model is called.

`demeanor doctor` and `demeanor init` run it on this machine, `demeanor cluster check` on every worker.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from demeanor.core.values.checks import FunctionCheck
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.scenario import Scenario
from demeanor.runner.catalog import SCRIPTED, Catalog
from demeanor.runner.execution import execute, prepare
from demeanor.runner.plan import plan_evals
from demeanor.runner.ui import UI

START_TIMEOUT = 60.0
"""Seconds that an agent has to start and to answer."""


def start_eval() -> Eval:
    """A simple prompt; whatever the agent does with it is accepted."""
    return Eval(
        name="starts",
        policy=Policy.USUALLY_PASSES,
        scenario=Scenario(prompts=("Say hello.",), timeout=START_TIMEOUT),
        checks=(FunctionCheck(function=_accept),),
        source=Source(path=Path(__file__), line=1),
    )


def start_subjects(catalog: Catalog, names: Iterable[str], *, isolated: bool) -> list[str]:
    """The subjects that start these agents.

    Agents that do not use the gateway are started only in a sandbox (`isolated`) that keeps them from the network.
    """
    return [
        f"{name}:{SCRIPTED}" if catalog.agent(name).dialect else name
        for name in names
        if catalog.agent(name).dialect or isolated
    ]


def start_agents(catalog: Catalog, names: Iterable[str], folder: Path, ui: UI) -> dict[str, Record]:
    """Start each agent once and give it a simple prompt: name → the record of its trial, in a run below `folder`."""
    subjects = start_subjects(catalog, names, isolated=catalog.config.sandbox != "none")
    if not subjects:
        return {}
    quick = replace(catalog, config=replace(catalog.config, attempts=1))
    request = RunRequest(subjects=tuple(subjects), policy="all", trials=1)
    run = prepare(quick, plan_evals(quick, [start_eval()], request, catalog.environ), request, folder, in_history=False)
    result = execute(run, ui=ui)
    if result.interrupted:
        raise KeyboardInterrupt
    return {record.subject.partition(":")[0]: record for record in result.records}


def _accept(rig: object, result: str) -> None:
    """Only the start is of interest."""
