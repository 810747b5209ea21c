"""The ledger of a run."""

from __future__ import annotations

import os
import tracemalloc
from dataclasses import replace
from pathlib import Path

import pytest

from demeanor.core.values.errors import StoreError
from demeanor.core.values.evidence import Spent
from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Fail, Finding, Pass, Void, VoidCause
from demeanor.store.runs.ledger import count_lines, drop_incomplete_line, ledger_line, read_ledger

PASSED = Record(
    eval="saves",
    subject="agent:model",
    number=1,
    attempt=1,
    verdict=Pass(findings=(Finding(check="saves a file", answer="yes"), Finding(check="exits", answer="yes"))),
    chain="?  incomplete: no exchange was recorded, and Demeanor can't read this agent's log",
    eval_hash="a868c6223824",
    agent_version="agent 1.2.3",
    fingerprint="842bee1b18f0",
    settings_hash="3873c1f281f3",
)


def many(number: int) -> list[Record]:
    """Attempts of one cell, as different as those of a real run."""
    return [
        replace(
            PASSED,
            number=i,
            spent=Spent(seconds=i / 7),
            folder=f"saves/agent-model/trial-{i}",
            capture=(600 * i, 600),
            capture_hash=f"{i:064x}",
            ended=f"2026-01-01T00:00:00.{i:03}+00:00",
        )
        for i in range(1, number + 1)
    ]


def test_what_was_written_is_read(tmp_path: Path) -> None:
    """Different verdicts stay different, also those that differ only in a reason."""
    records = [
        PASSED,
        replace(PASSED, number=2, verdict=Fail(findings=(Finding(check="exits", answer="no", reason="code 1"),))),
        replace(PASSED, number=3, verdict=Fail(findings=(Finding(check="exits", answer="no", reason="code 2"),))),
        replace(PASSED, number=4, verdict=Void(cause=VoidCause.HARNESS, detail="é\n"), chain="", agent_version=None),
        replace(PASSED, number=5),
    ]
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(b"".join(map(ledger_line, records)))
    assert list(read_ledger(path)) == records


def test_reading_needs_little_memory(tmp_path: Path) -> None:
    """A run of many trials keeps all its records at its end: less than a kilobyte each, also while they are read."""
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(b"".join(map(ledger_line, many(2000))))
    list(read_ledger(path))
    tracemalloc.start()
    try:
        records = list(read_ledger(path))
        kept, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(records) == 2000
    assert kept / 2000 < 900
    assert peak / 2000 < 1000


def test_an_incomplete_line_is_left_out(tmp_path: Path) -> None:
    """A power failure may leave one at the end."""
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(ledger_line(PASSED) + ledger_line(PASSED)[:-1])
    assert list(read_ledger(path)) == [PASSED]


def test_an_error_names_line_and_field(tmp_path: Path) -> None:
    """Also inside a verdict, which is decoded on its own."""
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(ledger_line(PASSED) + ledger_line(PASSED).replace(b'"yes"', b'"maybe"'))
    with pytest.raises(StoreError, match=r"line 2 is damaged: verdict\.findings\[0\]\.answer: 'maybe'"):
        list(read_ledger(path))


@pytest.mark.parametrize("rest", [0, 1, 2**16 - 1, 2**16, 2**16 + 1, 3 * 2**16])
@pytest.mark.parametrize("lines", [b"", b"{}\n", b"x" * 2**17 + b"\n{}\n"], ids=["none", "one", "a long one"])
def test_an_incomplete_line_is_cut_off(tmp_path: Path, lines: bytes, rest: int) -> None:
    """However long it is, without reading the whole file at once."""
    path = tmp_path / "ledger.jsonl"
    path.write_bytes(lines + b"y" * rest)
    assert count_lines(path) == lines.count(b"\n")
    ledger = os.open(path, os.O_RDWR | os.O_APPEND)
    drop_incomplete_line(ledger)
    os.close(ledger)
    assert path.read_bytes() == lines
