"""Checks that could never fail: a returned False counts wherever evals run, and generators are refused."""

from __future__ import annotations

import pytest

from tests.helpers.project import Project

EVALS = """\
from demeanor import ALWAYS_PASSES, eval_test

def stays_silent(stage):
    pass

@eval_test(ALWAYS_PASSES, prompt="Hello.", fails_on=stays_silent, does_nothing_passes=True)
{check}
"""
RETURNS_FALSE = {
    "sync": "def answers(rig, result):\n    return 'forty-two' in result",
    "async": "async def answers(rig, result):\n    return 'forty-two' in result",
}


@pytest.mark.parametrize("check", RETURNS_FALSE.values(), ids=RETURNS_FALSE)
def test_returned_false_fails_everywhere(project: Project, check: str):
    """`run`, `rejudge` and pytest give the same verdict, whether the check is async or not."""
    project.write(evals__eval_a_py=EVALS.format(check=check))
    ran = project.demeanor("run", "--subject", "native:scripted", "--trials", "1")
    rejudged = project.demeanor("rejudge", "latest")
    tested = project.pytest("evals", "--eval-subject", "native:scripted", "--eval-trials", "1")
    for command in (ran, rejudged, tested):
        assert command.returncode == 1, command.stdout + command.stderr
    assert "the check returned False" in ran.stdout
    assert "the check returned False" in tested.stdout
    validated = project.demeanor("validate")
    assert "an agent that does nothing fails" in validated.stdout, validated.stdout + validated.stderr


@pytest.mark.parametrize("word", ["def", "async def"])
def test_generator_is_refused_with_file_and_line(project: Project, word: str):
    """Before anything runs."""
    project.write(evals__eval_a_py=EVALS.format(check=f"{word} answers(rig, result):\n    yield\n    assert False"))
    ran = project.demeanor("run", "--subject", "native:scripted", "--trials", "1")
    assert ran.returncode == 2
    assert "eval_a.py:6" in ran.stderr
    assert "'answers' is a generator" in ran.stderr


@pytest.mark.parametrize("time", ["first", "second"])
def test_an_assert_of_a_tuple_is_refused_with_file_and_line(project: Project, time: str):
    """It is always true, wherever it stands in the file, and also when the file was read before."""
    helper = "def compare(found):\n    assert (found == 'x', 'it is not x')\n\n"
    project.write(evals__eval_a_py=helper + EVALS.format(check="def answers(rig, result):\n    compare(result)"))
    if time == "second":
        project.demeanor("list")
    for command in (["run", "--subject", "native:scripted", "--trials", "1"], ["validate"]):
        done = project.demeanor(*command)
        assert done.returncode == 2, done.stdout
        assert "eval_a.py:2" in done.stderr
        assert "assert found == 'x', 'it is not x'" in done.stderr
