"""The conformance suite on real agents, installed from npm and PyPI in exact versions."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.journeys.conftest import Project

pytestmark = pytest.mark.agents
AGENTS = ("goose",)


@pytest.mark.parametrize("name", AGENTS)
def test_a_real_agent_shows_all_that_it_does_not_decline(project: Project, name: str):
    """What an agent can't do is declared by its adapter; everything else works, in one go."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "holdfast-test-agents"
    env = {"HOLDFAST_AGENTS": str(cache)}
    installed = project.holdfast("agents", "install", name, **dict(os.environ), **env)
    assert installed.returncode == 0, installed.stderr
    ran = project.holdfast("agents", "check", name, "--json", **env)
    assert ran.stdout, ran.stderr
    (found,) = json.loads(ran.stdout).values()
    wrong = {one["ability"]: one["detail"] for one in found if one["state"] == "failed"}
    assert wrong == {}
    assert shutil.which("node") is None or {one["ability"] for one in found if one["state"] == "shown"} >= {"create"}
