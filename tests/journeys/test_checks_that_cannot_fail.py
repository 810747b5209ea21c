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


@pytest.mark.parametrize(
    "body", ["pass", "...", "print(result)", "rig.workspace['a.txt'].exists", "found = rig.calls", "'it says so'"]
)
def test_a_check_without_any_expectation_is_refused_with_file_and_line(project: Project, body: str):
    """It could never fail. A helper that is called may assert."""
    project.write(evals__eval_a_py=EVALS.format(check=f"def answers(rig, result):\n    {body}"))
    refused = project.demeanor("run", "--dry-run")
    assert (refused.returncode, "the check 'answers' can't fail: it has no assert" in refused.stderr) == (2, True)
    project.write(evals__eval_a_py=EVALS.format(check="def answers(rig, result):\n    compare(rig)"))
    assert project.demeanor("run", "--dry-run").returncode == 0


@pytest.mark.parametrize("time", ["first", "second"])
def test_an_assert_of_a_tuple_is_refused_with_file_and_line(project: Project, time: str):
    """It is always true, wherever it stands in the file, and also when the file was read before."""
    helper = "def compare(found):\n    assert (found == 'x', 'it is not x')\n\n"
    project.write(evals__eval_a_py=helper + EVALS.format(check="def answers(rig, result):\n    compare(result)"))
    if time == "second":
        project.demeanor("validate", "--list")
    for command in (["run", "--subject", "native:scripted", "--trials", "1"], ["validate"]):
        done = project.demeanor(*command)
        assert done.returncode == 2, done.stdout
        assert "eval_a.py:2" in done.stderr
        assert "assert found == 'x', 'it is not x'" in done.stderr


ELSEWHERE = {
    "thread": (
        "def answers(rig, result):\n"
        "    def look():\n        assert 'forty-two' in result\n"
        "    thread = threading.Thread(target=look)\n    thread.start()\n    thread.join()",
        "FAIL",
        "assert 'forty-two' in ",
    ),
    "task": (
        "async def answers(rig, result):\n"
        "    async def look():\n        assert 'forty-two' in result\n"
        "    asyncio.create_task(look())\n    await asyncio.sleep(0)",
        "FAIL",
        "assert 'forty-two' in ",
    ),
    "thread that is not joined": (
        "def answers(rig, result):\n    def look():\n        time.sleep(0.05)\n"
        "        assert 'forty-two' in result\n    threading.Thread(target=look).start()",
        "FAIL",
        "assert 'forty-two' in ",
    ),
    "task that has not ended": (
        "async def answers(rig, result):\n    async def look():\n        await asyncio.sleep(60)\n"
        "        assert 'forty-two' in result\n    asyncio.create_task(look())",
        "VOID",
        "look' had not ended when the check did: write `await`, or cancel it",
    ),
    "crash in a thread": (
        "def answers(rig, result):\n"
        "    thread = threading.Thread(target=lambda: 1 / 0)\n    thread.start()\n    thread.join()",
        "VOID",
        "ZeroDivisionError",
    ),
    "coroutine": (
        "async def answers(rig, result):\n    async def look():\n        assert 'forty-two' in result\n    look()",
        "VOID",
        "was never awaited, so nothing in it was run: write `await`",
    ),
}


@pytest.mark.parametrize(("check", "verdict", "reason"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_errors_in_threads_tasks_and_coroutines_count(project: Project, check: str, verdict: str, reason: str):
    """An assert that fails there fails the trial; a crash, and a coroutine that nothing awaits, make it void."""
    project.write(evals__eval_a_py="import asyncio, threading, time\n" + EVALS.format(check=check))
    ran = project.demeanor("run", "--subject", "native:scripted", "--trials", "1", COLUMNS="200")
    assert (ran.returncode, f"{verdict}  answers" in ran.stdout) == ({"FAIL": 1, "VOID": 3}[verdict], True), ran.stdout
    assert reason in ran.stdout
