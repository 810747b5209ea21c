"""Exports for other tools: attempts (CSV, Parquet), trajectories (ATIF) and evals as Harbor tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.store.exports.atif import trajectory as trajectory
    from demeanor.store.exports.otlp import SpanExport as SpanExport, as_lines as as_lines, send_spans as send_spans
    from demeanor.store.exports.table import (
        COLUMNS as COLUMNS,
        arrow_schema as arrow_schema,
        as_csv as as_csv,
        row as row,
        write_parquet as write_parquet,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "atif": "trajectory",
        "otlp": "SpanExport as_lines send_spans",
        "table": "COLUMNS arrow_schema as_csv row write_parquet",
    },
)
