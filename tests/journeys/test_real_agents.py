"""The conformance suite on real agents, installed from npm and PyPI in exact versions.

DEMEANOR_TEST_AGENTS selects the agents: `all`, or names with commas between them. Without it, the agents that are quick
to install and to start are tested.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from demeanor.core.values.agent import Ability
from tests.helpers.installed_agents import AGENTS_FOLDER, installed, selected_agents
from tests.helpers.project import Project
from tests.journeys.test_good_and_bad import AGENTS as WITH_BEHAVIOURS

pytestmark = pytest.mark.agents
AGENTS = selected_agents(
    (
        *("opencode", "cline", "gemini-cli", "mini-swe-agent", "kimi-code", "copilot"),
        *("pi", "claude-code", "codex", "goose"),
    )
)
"""The slowest first, so that the workers of pytest end at the same time."""
SMOKE = ("codex", "goose")
"""Agents that start quickly; all run many trials in one command in test_good_and_bad.py."""
SHOWN_ELSEWHERE = {"answer", "deny", "edit", "final-text", "search", "sub-agents", "turns"}
"""What test_good_and_bad.py shows of its agents; here, only those that start quickly are checked for it again. With
DEMEANOR_TEST_AGENTS, every agent is checked for everything."""
ENV = {"DEMEANOR_AGENTS": str(AGENTS_FOLDER)}


@pytest.mark.parametrize("name", AGENTS)
def test_real_agents_pass_the_conformance_suite(project: Project, name: str):
    """Except for the abilities that their adapters declare as unsupported."""
    installed(name)
    short = name in WITH_BEHAVIOURS and name not in SMOKE and not os.environ.get("DEMEANOR_TEST_AGENTS")
    left = [ability.value for ability in Ability if short and ability not in SHOWN_ELSEWHERE]
    words = [word for ability in left for word in ("--ability", ability)]
    ran = project.demeanor("agents", "check", name, "--json", *words, **ENV)
    assert ran.stdout, ran.stderr
    (found,) = json.loads(ran.stdout).values()
    states = {one["ability"]: one["state"] for one in found}
    assert {one["ability"]: one["detail"] for one in found if one["state"] in {"failed", "unknown"}} == {}
    assert states["create"] == states["quiet"] == states["outage"] == "shown"
    assert ran.returncode == 0


def _smoke_subjects() -> Iterator[str]:
    for name in SMOKE:
        yield from ("--subject", f"{name}:scripted")


def test_the_smoke_suite_with_several_agents_in_one_command(project: Project):
    """Five scenarios x agents x trials; the scripted model makes mistakes, but no trial is void."""
    shutil.copytree(Path(__file__).parents[2] / "examples/smoke", project.folder / "smoke")
    for name in SMOKE:
        installed(name)
    ran = project.demeanor("run", "smoke", "--policy", "all", "--trials", "1", "--jobs", "3", *_smoke_subjects(), **ENV)
    assert ran.returncode in {0, 1}, ran.stdout + ran.stderr
    assert "void" not in re.search(r"^trials .*$", ran.stdout, re.M)[0], ran.stdout  # type: ignore[index]
    assert ran.stdout.count("01-create-file") >= len(SMOKE)
