"""Output formats of other packages, found by the entry point `demeanor.reporters`: functions from a report to text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from demeanor.core.entry_points import installed
from demeanor.core.text.wording import one_line
from demeanor.core.values.errors import BadInput, UnknownName

ENTRY_POINT = "demeanor.reporters"
FORMATS = ("json", "csv", "parquet", "junit", "atif", "otlp")
"""The formats of Demeanor itself."""


def check_format(name: str) -> None:
    """Raise UnknownName if there is neither a format nor a reporter of this name."""
    others = {point.name for point in installed(ENTRY_POINT)}
    if name not in FORMATS and name not in others:
        raise UnknownName("format", name, (*FORMATS, *sorted(others)))


def render(name: str, report: str) -> str:
    """The text that a reporter makes of a report (a JSON document); raises BadInput if it fails."""
    point = next(point for point in installed(ENTRY_POINT) if point.name == name)
    try:
        reporter: Callable[[Any], Any] = point.load()
        text = reporter(json.loads(report))
    except Exception as error:
        problem = one_line(f"{type(error).__name__}: {error}", width=300)
        raise BadInput(f"the reporter failed: {problem}", where=f"--format {name}", key=point.value) from error
    if not isinstance(text, str):
        raise BadInput(
            f"the reporter returned {type(text).__name__}, not text", where=f"--format {name}", key=point.value
        )
    return text
