"""Exports attempts as one flat table, with the same columns in CSV and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from demeanor.core.installation import install_extra
from demeanor.core.values.errors import BadInput
from demeanor.core.values.history import PastRun
from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Fail, Void

COLUMNS = {
    "run": str, "started": str, "kind": str, "origin": str, "commit": str, "branch": str, "dirty": bool,
    "demeanor": str, "eval": str, "subject": str, "policy": str, "trial": int, "attempt": int, "final": bool,
    "verdict": str, "cause": str, "reason": str, "ended": str, "seconds": float, "turns": int, "input_tokens": int,
    "output_tokens": int, "cost_usd": float, "eval_hash": str, "prompt_hash": str, "agent_version": str,
    "fingerprint": str, "capture_hash": str,
}  # fmt: skip
"""The columns and their types; every value may be missing."""


def row(run: PastRun, record: Record) -> tuple[Any, ...]:
    """One attempt as a row, in the order of the columns."""
    info, spent, verdict = run.info, record.spent, record.verdict
    cause = reason = None
    if isinstance(verdict, Void):
        cause, reason = verdict.cause.value, verdict.detail
    elif isinstance(verdict, Fail):
        reason = verdict.reason
    return (
        info.id, info.started, info.kind, run.origin, info.commit, info.branch, info.dirty, info.demeanor or None,
        record.eval, record.subject, record.policy.value, record.number, record.attempt, record.final,
        verdict.outcome, cause, reason, record.ended or None, spent.seconds, spent.turns, spent.input_tokens,
        spent.output_tokens, spent.cost_usd, record.eval_hash or None, record.prompt_hash, record.agent_version,
        record.fingerprint or None, record.capture_hash or None,
    )  # fmt: skip


def as_csv(run: PastRun, records: Iterable[Record]) -> str:
    """CSV with a header. Text of an agent is escaped, so that a spreadsheet does not run it as a formula."""
    out = io.StringIO(newline="")
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for record in records:
        writer.writerow([_escaped(value) for value in row(run, record)])
    return out.getvalue()


def _escaped(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value[:1] in {"=", "+", "-", "@", "\t", "\r"} else value


def arrow_schema() -> Any:
    """The columns as a schema of Arrow."""
    import pyarrow  # type: ignore[import-untyped]

    types = {str: pyarrow.string(), bool: pyarrow.bool_(), int: pyarrow.int64(), float: pyarrow.float64()}
    return pyarrow.schema([(name, types[kind]) for name, kind in COLUMNS.items()])


def write_parquet(run: PastRun, records: Iterable[Record], path: Path) -> None:
    """Write the table as Parquet, with column types."""
    try:
        import pyarrow
        import pyarrow.parquet  # type: ignore[import-untyped]
    except ImportError:
        raise BadInput(
            "the package for Parquet is not installed",
            where=path,
            key="--format parquet",
            remedy=install_extra("parquet"),
        ) from None
    schema = arrow_schema()
    rows = [tuple(_text(value) for value in row(run, record)) for record in records]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(COLUMNS)
    table = pyarrow.table([pyarrow.array(c, type=f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
    pyarrow.parquet.write_table(table, path)


def _text(value: Any) -> Any:
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
