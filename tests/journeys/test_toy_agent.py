"""The toy agent that other journeys use: its evals pass, fail and vary as configured."""

from __future__ import annotations

import json

import pytest

from tests.helpers.project import Project
from tests.helpers.toy_agent import CAREFUL, ToyAgent


def passed(project: Project, *words: str) -> dict[str, list[int]]:
    """The number of passed and failed trials, by eval."""
    done = project.demeanor("run", "--policy", "all", "--sandbox", "none", "--json", *words)
    results = json.loads(done.stdout)["results"]
    trials = {one["scenarioId"]: [trial["passed"] for trial in one["trials"]] for one in results}
    return {name: [found.count(True), found.count(False)] for name, found in trials.items()}


def test_its_evals_pass_until_its_prompt_or_a_tool_changes(project: Project):
    """Each change breaks one eval."""
    toy = ToyAgent(project)
    good = passed(project, "--trials", "1")
    assert good == {name: [1, 0] for name in good}
    assert len(good) == 4
    toy.break_reading()
    toy.break_deleting()
    broken = {"reads_before_editing": [0, 1], "deletes_with_its_tool": [0, 1]}
    assert passed(project, "--trials", "1") == {**good, **broken}


def test_results_can_vary_and_are_repeatable(project: Project):
    """With the seed of the run."""
    toy = ToyAgent(project, instructed=0.7)
    words = ("-k", "reads", "--trials", "5", "--seed", "3")
    first = passed(project, *words)
    assert 0 < first["reads_before_editing"][0] < 5
    assert passed(project, *words) == first
    toy.break_reading()
    assert passed(project, *words) == {"reads_before_editing": [0, 5]}


def test_its_evals_can_pass_and_can_fail(project: Project):
    """So that a journey shows something."""
    ToyAgent(project)
    done = project.demeanor("validate")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("breaks_at", [1, 4])
def test_a_history_breaks_at_the_requested_commit(project: Project, breaks_at: int):
    """All commits are different."""
    toy = ToyAgent(project)
    commits = toy.history(6, breaks_at=breaks_at)
    assert len(set(commits)) == 6
    careful = [CAREFUL in toy.git("show", f"{commit}:prompts/system.md") for commit in commits]
    assert careful == [place < breaks_at for place in range(6)]
