"""The eval that only starts an agent, with a scripted model, so that no paid model is called.

`demeanor doctor` runs it on this machine, `demeanor cluster check` on every worker.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from demeanor.core.values.checks import FunctionCheck
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.policy import Policy
from demeanor.core.values.scenario import Scenario
from demeanor.runner.catalog import SCRIPTED, Catalog

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


def _accept(rig: object, result: str) -> None:
    """Only the start is of interest."""
