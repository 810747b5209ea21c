"""Chooses adapters from the configuration; the one place where all rooms meet."""

from holdfast.wiring.cassettes import cassette_faults
from holdfast.wiring.cast import NATIVE, SCRIPTED, Cast
from holdfast.wiring.house import house, new_store, open_sandbox, run_info, run_terms
from holdfast.wiring.past import export, history_of, past_report
from holdfast.wiring.planning import choose_evals, plan_evals, plan_run
from holdfast.wiring.proving import probe_levels, probe_sandbox, self_tests
from holdfast.wiring.publishing import make_report, publish
from holdfast.wiring.tasks import task_environment

__all__ = [
    "NATIVE",
    "SCRIPTED",
    "Cast",
    "cassette_faults",
    "choose_evals",
    "export",
    "history_of",
    "house",
    "make_report",
    "new_store",
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
