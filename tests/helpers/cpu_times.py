"""A pytest plugin for `make test-times`: which test files take the CPU time, with everything that they start.

Wall times say little when several tests share the cores; CPU time is nearly the same on an idle and on a busy machine.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

import pytest

from tests.helpers import processes

REPORT = Path("build/test-times.md")
_FILES = pytest.StashKey[Counter[str]]()
_TESTS = pytest.StashKey[Counter[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Start counting at zero."""
    config.stash[_FILES] = Counter()
    config.stash[_TESTS] = Counter()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Count the CPU time of a test, its fixtures included: a shared fixture counts for the test that came first."""
    before = processes.cpu_seconds(os.getpid())
    result = yield
    path = item.location[0]
    item.config.stash[_FILES][path] += processes.cpu_seconds(os.getpid()) - before
    item.config.stash[_TESTS][path] += 1
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Send the counts of this process to the one that writes the table, or write it."""
    files, tests = (session.config.stash[key] for key in (_FILES, _TESTS))
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["cpu_times"] = [dict(files), dict(tests)]
    elif files:
        REPORT.parent.mkdir(exist_ok=True)
        REPORT.write_text(table(files, tests))


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node) -> None:  # type: ignore[no-untyped-def]  # of pytest-xdist
    """Add the counts of a process that has ended."""
    files, tests = getattr(node, "workeroutput", {}).get("cpu_times", ({}, {}))
    node.config.stash[_FILES].update(files)
    node.config.stash[_TESTS].update(tests)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say where the table is."""
    terminalreporter.write_line(f"CPU time of each test file: {REPORT}")


def table(files: Counter[str], tests: Counter[str]) -> str:
    """The table, dearest files first."""
    total = files.total()
    rows = files.most_common()
    sums = accumulate(seconds for _, seconds in rows)
    lines = [
        f"# CPU time of {tests.total():,} tests: {total / 60:.1f} minutes",
        "",
        "| CPU s | tests | s per test | of all, so far | file |",
        "|--:|--:|--:|--:|---|",
        *(
            f"| {seconds:.1f} | {tests[path]} | {seconds / tests[path]:.2f} | {so_far / total:.0%} | {path} |"
            for (path, seconds), so_far in zip(rows, sums, strict=True)
        ),
    ]
    return "\n".join(lines) + "\n"
