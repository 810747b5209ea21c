"""`make quick` finds the tests that are nearest to a change."""

from __future__ import annotations

import runpy
from pathlib import Path

QUICK = runpy.run_path(str(Path(__file__).parents[1] / "tools/quick.py"))


def test_nearest_tests() -> None:
    """The tests of a changed package come first, then those of the packages that import a changed module."""
    near, far = QUICK["nearest_tests"](["src/demeanor/statistics/intervals.py", "tests/render/test_table.py"])
    assert near == ["tests/render/test_table.py", "tests/statistics"]
    assert "tests/plugins/lab" in far
    assert not set(near) & set(far)


def test_a_command_is_its_verb() -> None:
    """A change of one command runs the tests of that command, not of all."""
    near, _ = QUICK["nearest_tests"](["src/demeanor/commands/gate/__init__.py"])
    assert near == ["tests/commands/gate"]
