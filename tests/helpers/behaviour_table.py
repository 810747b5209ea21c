"""The table of agents and behaviours at the end of a test run: what the good and the bad model's trials came to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import pytest

PROPERTY = "behaviours"
"""A test that tried an agent records its row under this name: `{"agent": …, "cells": {behaviour: "pass/fail"}}`."""


def rows_of(reports: Sequence[object]) -> dict[str, dict[str, str]]:
    """Agent → behaviour → cell, from the properties of the tests."""
    found: dict[str, dict[str, str]] = {}
    for report in reports:
        if isinstance(report, pytest.TestReport) and report.when == "call":
            for name, value in report.user_properties:
                if name == PROPERTY:
                    row = json.loads(str(value))
                    found[row["agent"]] = row["cells"]
    return found


def table(rows: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """One line per agent, one column per behaviour."""
    behaviours = list(dict.fromkeys(behaviour for cells in rows.values() for behaviour in cells))
    yield "good/bad: the verdicts with a model that behaves well and with one that behaves badly"
    for number, behaviour in enumerate(behaviours, 1):
        yield f"  {number} {behaviour.replace('_', ' ')}"
    width = max(map(len, rows))
    yield " " * width + "".join(f"  {number:<9}" for number in range(1, len(behaviours) + 1))
    for agent, cells in sorted(rows.items()):
        yield f"{agent:<{width}}" + "".join(f"  {cells.get(behaviour, ''):<9}" for behaviour in behaviours)
