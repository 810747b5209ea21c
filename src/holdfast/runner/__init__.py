"""Chooses adapters from the configuration; the one place where all rooms meet.

Each part is loaded when it is first asked for: `holdfast report` needs no agent, and a run needs no past.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.runner.cassettes import cassette_faults
    from holdfast.runner.catalog import NATIVE, SCRIPTED, Cast
    from holdfast.runner.assemble import new_store, open_house, open_sandbox, run_info, run_terms
    from holdfast.commands.run.past_runs import export, history_of, past_report
    from holdfast.runner.planning import choose_evals, plan_evals, plan_run
    from holdfast.runner.self_tests import probe_levels, probe_sandbox, self_tests
    from holdfast.commands.run.outputs import make_report, publish
    from holdfast.runner.tasks import task_environment

__all__ = [
    "NATIVE",
    "SCRIPTED",
    "Cast",
    "cassette_faults",
    "choose_evals",
    "export",
    "history_of",
    "make_report",
    "new_store",
    "open_house",
    "open_sandbox",
    "past_report",
    "plan_evals",
    "plan_run",
    "probe_levels",
    "probe_sandbox",
    "publish",
    "run_info",
    "run_terms",
    "self_tests",
    "task_environment",
]

_HOMES = {
    "cassette_faults": "cassettes",
    "NATIVE": "cast",
    "SCRIPTED": "cast",
    "Cast": "cast",
    "new_store": "house",
    "open_house": "house",
    "open_sandbox": "house",
    "run_info": "house",
    "run_terms": "house",
    "export": "past",
    "history_of": "past",
    "past_report": "past",
    "choose_evals": "planning",
    "plan_evals": "planning",
    "plan_run": "planning",
    "probe_levels": "proving",
    "probe_sandbox": "proving",
    "self_tests": "proving",
    "make_report": "publishing",
    "publish": "publishing",
    "task_environment": "tasks",
}


def __getattr__(name: str) -> Any:
    """Import a part when one of its names is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
