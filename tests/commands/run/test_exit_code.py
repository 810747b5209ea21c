from __future__ import annotations

import pytest

from demeanor.commands.run.exit_code import exit_code
from demeanor.core.exit_code import ExitCode
from demeanor.core.tally import Decision


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ("accept", ExitCode.ACCEPTED),
        ("accept skipped", ExitCode.ACCEPTED),
        ("accept reject", ExitCode.REJECTED),
        ("undecided reject skipped", ExitCode.REJECTED),
        ("accept undecided", ExitCode.UNDECIDED),
        ("skipped skipped", ExitCode.UNDECIDED),
        ("", ExitCode.UNDECIDED),
    ],
)
def test_the_worst_decision_makes_the_exit_code(answers: str, expected: ExitCode) -> None:
    """Reject beats undecided beats accept; nothing but skips proves nothing."""
    decisions = [Decision(answer=answer, rule="r", reason="") for answer in answers.split()]  # type: ignore[arg-type]
    assert exit_code(decisions) is expected
    assert exit_code(reversed(decisions)) is expected
