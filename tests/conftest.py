"""Settings and fixtures of all tests.

Property tests use the same examples each time and have no limit on their time, so that a busy machine can't fail them.
There are few examples, because each run repeats those of the run before; `DEMEANOR_EXAMPLES=1000` tries more.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.helpers.behaviour_table import rows_of, table
from tests.helpers.project import Project

settings.register_profile(
    "steady",
    max_examples=int(os.environ.get("DEMEANOR_EXAMPLES", "40")),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("steady")


@pytest.fixture(autouse=True)
def signal_handlers() -> Iterator[None]:
    """Each test, and what it starts, has the usual handlers; `nohup` and interrupted commands ignore SIGHUP."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty project."""
    return Project(tmp_path / "project")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table of agents and behaviours, if agents were tried."""
    reports = [report for name in ("passed", "failed") for report in terminalreporter.stats.get(name, [])]
    if rows := rows_of(reports):
        terminalreporter.section("agents and behaviours")
        for line in table(rows):
            terminalreporter.write_line(line)
