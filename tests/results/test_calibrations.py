"""Judges that may not block."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from demeanor.config.config import Config
from demeanor.core.values.checks import JudgeCheck
from demeanor.results.calibrations import uncalibrated
from demeanor.store.history import open_history
from tests.runner.test_plan import an_eval


def test_the_command_that_calibrates_a_case_can_be_pasted_into_a_shell(tmp_path: Path):
    """Brackets are special there."""
    one = replace(an_eval("asks[old file]"), checks=(JudgeCheck(question="It asks first"),))
    with open_history(str(tmp_path / "history.db")) as history:
        (told,) = uncalibrated(history, [one], Config(root=tmp_path)).values()
    assert "→ demeanor validate --calibrate 'asks[old file]', or" in told
