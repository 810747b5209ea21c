"""Fixtures of the commands' tests: reports of runs, and comparison with golden files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from demeanor.core.record import Record
from demeanor.core.trial import Cell
from demeanor.core.verdict import Void, VoidCause
from demeanor.reports.run.report import RunReport
from tests.helpers.run_reports import HOSTILE, fail, make_cell, make_mixed, make_record, make_report, report_of


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
