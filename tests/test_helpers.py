"""The helpers of the tests themselves, where they explain what went wrong."""

from __future__ import annotations

import pytest

from tests.helpers import preloaded, processes
from tests.helpers.project import Project
from tests.journeys.test_survival import until


def test_a_command_that_does_not_end_is_described_and_killed(project: Project):
    """Otherwise a test that hangs once in a thousand runs says nothing about the reason."""
    with pytest.raises(AssertionError) as caught:
        preloaded.run("demeanor", ("gateway", "serve", "--port", "0"), cwd=project.folder, env=project.env, timeout=5)
    text = str(caught.value)
    assert text.startswith("`demeanor gateway serve --port 0` did not end within 5 s\n"), text
    assert "tests.helpers.preloaded" in text
    assert "most recent call first" in text
    until(lambda: processes.working_in(project.folder) == [])
