"""What users see and tools read is what it was: help, reports in every format, files of a run.

Each test compares one folder of golden files. What is made by commands is made in one test per project, so that the
project is built once, however the tests are shared out among processes.
"""

from __future__ import annotations

import pytest

from tests.golden.cases import CASES, commands
from tests.golden.golden import check_folder
from tests.golden.stories import STORIES


def test_the_help_of_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the parser has them: a new command needs a golden file of its own."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    check_folder("help", {f"{name.replace(' ', '-') or 'program'}.txt": text for name, text in commands()})


def test_reports_made_of_values() -> None:
    """Every renderer, with everything that can happen in it."""
    check_folder("values", {name: make() for name, make in CASES.items()})


@pytest.mark.parametrize("name", list(STORIES))
def test_commands_on_a_toy_project(name: str) -> None:
    """What the commands print and keep."""
    check_folder(name, STORIES[name]())
