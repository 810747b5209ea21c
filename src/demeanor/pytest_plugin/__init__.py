"""The pytest plugin: `pytest evals/` runs evals. Only hooks and options, because every pytest run imports this module.

There is one item per eval and subject. Without RUN_EVALS only ALWAYS_PASSES runs. The trials of all selected items run
concurrently in one run; pytest then collects one result after the other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from demeanor.pytest_plugin.batch import Batch

_MARKERS = ("always_passes", "usually_passes", "usually_fails")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the run; evals are selected with pytest's own -k and -m."""
    group = parser.getgroup("demeanor", "behavioural evals")
    group.addoption(
        "--eval-subject", action="append", default=[], metavar="AGENT:MODEL", help="the subject to test; repeatable"
    )
    group.addoption("--eval-trials", type=int, metavar="N", help="trials per eval and subject (default: 3)")
    group.addoption("--eval-jobs", type=int, metavar="N", help="trials in parallel")
    group.addoption(
        *("--eval-sandbox", "--demeanor-sandbox"),
        metavar="LEVEL",
        help="the sandbox level, such as landlock (default: the configuration's)",
    )
    group.addoption("--eval-out", metavar="DIR", help="results folder (default: results)")


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, for --strict-markers."""
    for marker in _MARKERS:
        config.addinivalue_line("markers", f"{marker}: an eval of this policy")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect files of evals and scenario folders."""
    name = file_path.name
    is_python = file_path.suffix == ".py" and (name.startswith("eval_") or name.endswith("_eval.py"))
    if not is_python and name not in {"scenario.toml", "config.json"}:
        return None
    from demeanor.pytest_plugin.items import collect_file

    return collect_file(file_path, parent)


def pytest_pycollect_makeitem(collector: pytest.Module | pytest.Class, name: str, obj: object) -> Any:
    """Collect evals that are defined in an ordinary test file, also those in lists and dicts."""
    several: Iterable[object] = obj.values() if isinstance(obj, dict) else obj if isinstance(obj, list | tuple) else ()
    evals = [one for one in (obj, *several) if type(one).__module__ == "demeanor.core.eval"]
    if not evals:
        return None
    from demeanor.pytest_plugin.items import items_of_module

    return items_of_module(collector, evals)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Fail the collection of a test file that has lost an eval."""
    report = yield
    if isinstance(collector, pytest.Module) and report.passed and "demeanor.define.python.decorator" in sys.modules:
        from demeanor.pytest_plugin.items import lost_eval

        if problem := lost_eval(collector):
            report.outcome, report.longrepr, report.result = "failed", problem, []
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Stop what is still running, and write the report files."""
    batch = _batch(session.config)
    if batch is not None:
        batch.finish()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the report, as `demeanor run` does."""
    batch = _batch(config)
    if batch is not None and batch.report is not None:
        from demeanor.commands.run.terminal import terminal
        from demeanor.core.ci_commands import neutral
        from demeanor.render.terminal import Screen

        terminalreporter.section("evals")
        text = terminal(batch.report, Screen(width=terminalreporter._tw.fullwidth))
        terminalreporter.write_line(neutral(text, os.environ))


def _batch(config: pytest.Config) -> Batch | None:
    """The run of this pytest session; None if no eval was collected, so that nothing else of Demeanor is imported."""
    module = sys.modules.get("demeanor.pytest_plugin.batch")
    return config.stash.get(module.KEY, None) if module else None
