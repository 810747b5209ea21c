"""Settings and fixtures of all tests.

Property tests use the same examples each time and have no limit on their time, so that a busy machine can't fail them.
There are few examples, because each run repeats those of the run before; `DEMEANOR_EXAMPLES=1000` tries more.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from demeanor.core.values.record import Record
from demeanor.core.values.trial import Cell
from demeanor.core.values.verdict import Void, VoidCause
from demeanor.reports.run.report import RunReport
from tests.helpers.behaviour_table import rows_of, table
from tests.helpers.project import Project
from tests.helpers.run_reports import HOSTILE, fail, make_cell, make_mixed, make_record, make_report, report_of

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


@pytest.fixture
def golden() -> Callable[[Path, str], None]:
    """Compares a text with the file of its golden text; with DEMEANOR_UPDATE_GOLDEN=1 the file is written instead."""

    def compare(path: Path, text: str) -> None:
        if os.environ.get("DEMEANOR_UPDATE_GOLDEN"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.read_text(encoding="utf-8") == text

    return compare


@pytest.fixture
def mixed() -> RunReport:
    return make_mixed()


@pytest.fixture(params=list(HOSTILE), ids=list(HOSTILE))
def hostile(request: pytest.FixtureRequest) -> tuple[str, RunReport]:
    """A text that means harm, and a report in which it stands wherever an agent or a provider can put it."""
    text = HOSTILE[request.param]
    bad, broken, gone = make_cell(f"fails {text[:200]}"), make_cell("breaks"), make_cell("skipped", skipped=text)
    more = {"chain": text, "stdout": text, "stderr": text, "notes": (text,), "folder": f"x/{text[:200]}"}
    records = [
        make_record(bad, 1, fail(text, check=text[:200]), **more),
        make_record(bad, 2, fail(text + "!"), **more),
        make_record(broken, 1, Void(cause=VoidCause.HARNESS, detail=text), **more),
    ]
    return text, report_of([bad, broken, gone], records, notes=(text,))


@pytest.fixture
def cell() -> Callable[..., Cell]:
    return make_cell


@pytest.fixture
def record() -> Callable[..., Record]:
    return make_record


@pytest.fixture
def report() -> Callable[..., RunReport]:
    return make_report
