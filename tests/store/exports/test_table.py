"""Attempts as a table."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pyarrow.parquet as pq

from demeanor.core.values.history import PastRun
from demeanor.core.values.verdict import Fail, Finding
from demeanor.store.exports.table import COLUMNS, as_csv, row, write_parquet
from tests.helpers.runs import PASSED, VOIDED, a_run, record

FORMULA = Fail(findings=(Finding(check="c", answer="no", reason="=HYPERLINK(1)"),))
RECORDS = [record(1, PASSED), record(2, FORMULA, stdout="\ud800"), record(3, VOIDED)]


def test_csv_has_every_attempt_and_no_formula():
    """A spreadsheet must not run text of an agent."""
    lines = list(csv.DictReader(io.StringIO(as_csv(PastRun(info=a_run()), RECORDS))))
    assert [line["verdict"] for line in lines] == ["pass", "fail", "void"]
    assert lines[1]["reason"] == "'=HYPERLINK(1)"
    assert (lines[2]["cause"], lines[2]["cost_usd"], lines[0]["run"]) == ("provider", "0.25", "night-1")


def test_parquet_has_the_same_values_with_types(tmp_path: Path):
    """A run without attempts has all columns too."""
    run = PastRun(info=a_run())
    write_parquet(run, RECORDS, tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    assert [tuple(line.values()) for line in table.to_pylist()] == [row(run, one) for one in RECORDS]
    write_parquet(run, [], tmp_path / "b.parquet")
    assert pq.read_table(tmp_path / "b.parquet").schema.names == list(COLUMNS)
