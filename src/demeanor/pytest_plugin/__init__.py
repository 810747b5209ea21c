"""The pytest plugin: `pytest evals/` runs evals. Only hooks and options, because every pytest run imports this module.

There is one item per eval and subject. Without RUN_EVALS only ALWAYS_PASSES runs. The trials of all selected items run
concurrently in one run; pytest then collects one result after the other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from demeanor.define import SourceModule
    from demeanor.pytest_plugin.batch import Batch

_SETTINGS = {"demeanor.toml", "pyproject.toml"}
"""TOML files that define no evals; a folder with others may be an eval of a source."""

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
        "--eval-sandbox",
        metavar="LEVEL",
        help="the sandbox level, such as landlock (default: the configuration's)",
    )
    group.addoption("--eval-results", metavar="DIR", help="folder of runs (default: results)")


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers, for --strict-markers."""
    for marker in _MARKERS:
        config.addinivalue_line("markers", f"{marker}: an eval of this policy")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Collect files of evals, scenario folders and whole tasks."""
    name = file_path.name
    is_python = file_path.suffix == ".py" and (name.startswith("eval_") or name.endswith("_eval.py"))
    if not is_python and name not in {"scenario.toml", "config.json"}:
        source = _source_of(file_path.parent) if file_path.suffix != ".py" else None
        if source is None or name != source.FILE:
            return None
    from demeanor.pytest_plugin.items import collect_file

    return collect_file(file_path, parent)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Ignore the folders inside of a whole task: its tests run in its own environment only."""
    return True if _source_of(collection_path.parent) is not None and collection_path.is_dir() else None


@cache
def _source_of(folder: Path) -> SourceModule | None:
    """The source that reads a folder as an eval, if it is certainly one: other tools, too, have files of such names."""
    if not any(path.name not in _SETTINGS for path in folder.glob("*.toml")):
        return None
    from demeanor.define import source_of

    source = source_of(folder)
    return source if source is not None and source.is_complete(folder) else None


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem(
    collector: pytest.Module | pytest.Class, obj: object
) -> Generator[None, Any, pytest.Item | pytest.Collector | list[pytest.Item | pytest.Collector] | None]:
    """Collect evals that are defined in an ordinary test file, also those in lists, dicts and classes."""
    collected = yield
    if not _may_have_evals(obj):
        return collected  # type: ignore[no-any-return]
    from demeanor.pytest_plugin.items import items_of_module

    items = items_of_module(collector, obj)
    if not items:
        return collected  # type: ignore[no-any-return]
    if collected is None:
        return [*items]
    return [*collected, *items] if isinstance(collected, list) else [collected, *items]


def _may_have_evals(obj: object) -> bool:
    """Whether a value is an eval or may have one. Without `demeanor.core.values.eval` there are none."""
    containers = (list, tuple, dict, type, pytest.MarkDecorator)
    return "demeanor.core.values.eval" in sys.modules and (
        isinstance(obj, containers) or type(obj).__module__ == "demeanor.core.values.eval"
    )


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


@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session: pytest.Session) -> Generator[None, object, object]:
    """Handle SIGTERM and SIGHUP like Ctrl-C if there are evals, so that their agents and temporary folders don't stay.

    pytest handles only Ctrl-C.
    """
    if not {"demeanor.pytest_plugin.items", "demeanor.pytest_plugin.shared_run"} & sys.modules.keys():
        return (yield)
    from demeanor.core.signals import signals_as_interrupt

    with signals_as_interrupt():
        return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of xdist how to reach this process, which runs the evals of all workers as one run."""
    from demeanor.pytest_plugin.shared_run import open_run

    node.workerinput["demeanor_run"] = open_run(node.config)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Stop what is still running, and write the report files."""
    batch = _batch(session.config)
    if batch is not None:
        batch.finish()
    shared = sys.modules.get("demeanor.pytest_plugin.shared_run")
    if shared is not None:
        shared.close_run(session.config)


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the report, as `demeanor run` does."""
    batch = _batch(config)
    if batch is not None and batch.report is not None:
        from demeanor.core.text.ci_commands import neutral
        from demeanor.render import Screen
        from demeanor.reports.run import terminal_report

        terminalreporter.section("evals")
        text = terminal_report(batch.report, Screen(width=terminalreporter._tw.fullwidth))
        terminalreporter.write_line(neutral(text, os.environ))


def _batch(config: pytest.Config) -> Batch | None:
    """The run of this pytest session; None if no eval was collected, so that nothing else of Demeanor is imported."""
    module = sys.modules.get("demeanor.pytest_plugin.batch")
    return config.stash.get(module.KEY, None) if module else None
