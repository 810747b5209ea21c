"""The exit code of `cover`: never accepted or rejected if the rest could change that."""

from __future__ import annotations

import pytest

from demeanor.core.values.exit_code import ExitCode
from demeanor.plugins.lab.cover.build_report import decide
from demeanor.reports.prompt_coverage.report import Coverage


@pytest.mark.parametrize(
    ("held", "tried", "least", "code"),
    [
        (3, 10, None, ExitCode.ACCEPTED),
        (3, 9, None, ExitCode.UNDECIDED),
        (8, 10, 0.8, ExitCode.ACCEPTED),
        (7, 10, 0.8, ExitCode.REJECTED),
        (7, 9, 0.8, ExitCode.UNDECIDED),
        (8, 9, 0.8, ExitCode.ACCEPTED),
        (6, 9, 0.8, ExitCode.REJECTED),
        (0, 0, 0.8, ExitCode.UNDECIDED),
    ],
)
def test_what_is_not_tried_counts_for_both_sides(held: int, tried: int, least: float | None, code: ExitCode) -> None:
    """Of ten instructions."""
    rate = held / tried if tried else None
    coverage = Coverage(held=held, tried=tried, instructions=10, rate=rate, low=0.0, high=1.0)
    assert decide(coverage, least, complete=tried == 10) is code
