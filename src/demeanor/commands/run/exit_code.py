"""What follows from all decisions of a run: its exit code."""

from __future__ import annotations

from collections.abc import Iterable

from demeanor.core.exit_code import ExitCode
from demeanor.core.tally import Decision


def exit_code(decisions: Iterable[Decision]) -> ExitCode:
    """One reject rejects the run; short of that, one undecided cell, or nothing but skips, leaves it undecided."""
    answers = {decision.answer for decision in decisions}
    if "reject" in answers:
        return ExitCode.REJECTED
    if "undecided" in answers or "accept" not in answers:
        return ExitCode.UNDECIDED
    return ExitCode.ACCEPTED
