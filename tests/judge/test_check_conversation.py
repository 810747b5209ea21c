"""Checks are asked in a thread or in the event loop; the answers are the same, and neither can be hung or ended."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from demeanor.core.values.checks import FunctionCheck
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.policy import Policy
from demeanor.core.values.scenario import Scenario
from demeanor.judge.answers import CheckAnswer, Rehearsals
from demeanor.judge.check_server import CheckServer, ChecksStopped
from demeanor.judge.opinion import no_judge
from tests.judge.helpers import evidence, lay_out, read_back, run_command, tree


def passes(rig, result):
    sys.stdout.write(f"looked at {rig.workspace['out.txt'].text[:2]}\n")


def fails(rig, result):
    assert rig.workspace["out.txt"].text == "other"


def ends_the_process(rig, result):
    sys.stdout.write("bye\n")
    os._exit(0)


def endless(rig, result):
    sys.stdout.write("waits\n")
    while True:
        pass


def runs_a_command(rig, result):
    assert rig.workspace.run("cat", "out.txt").stdout.startswith("hi")


def answers(*functions, limit: float = 60.0, large: int = 0) -> tuple[CheckAnswer, ...]:
    """The answers of some checks, which are the same in a thread and in an event loop."""
    checks = tuple(FunctionCheck(function=function) for function in functions)
    source = Source(path=Path("x"))
    one = Eval(name="e", policy=Policy.USUALLY_PASSES, scenario=Scenario(prompts=("p",)), checks=checks, source=source)
    seen = evidence(after=tree({"out.txt": "hi" + "x" * large}))
    server = CheckServer([one], Rehearsals(lay_out=lay_out, read_back=read_back), limit=limit)
    try:
        there = server.ask(seen, one, run_command)
        assert asyncio.run(server.ask_in_loop(seen, one, run_command, no_judge)) == there
    finally:
        server.close()
    return there


def test_answers_are_the_same_in_a_thread_and_in_the_loop() -> None:
    """What a check prints belongs to its answer, and a check that ends its process does not affect the next one."""
    first, second, third, fourth, fifth = answers(passes, fails, ends_the_process, runs_a_command, passes)
    assert (first.finding.answer, first.printed) == ("yes", "looked at hi\n")
    assert (second.finding.answer, second.printed) == ("no", "")
    assert (third.crash, third.printed) == ("crashed: it ended the process in which checks run", "bye\n")
    assert fourth.finding.answer == fifth.finding.answer == "yes"


def test_a_check_that_does_not_end_is_killed_and_the_next_one_is_asked() -> None:
    """The time limit holds for each check."""
    first, second = answers(endless, passes, limit=1.0)
    assert (first.crash, first.printed) == ("did not end within 1 s", "waits\n")
    assert second.finding.answer == "yes"


def test_more_evidence_than_fits_into_a_socket_is_sent_whole() -> None:
    """Evidence of a few megabytes, which the worker reads in pieces."""
    (only,) = answers(passes, large=4 * 2**20)
    assert only.finding.answer == "yes"


def test_a_stopped_server_says_so() -> None:
    """A run that was stopped gets no answer."""
    server = CheckServer([], Rehearsals(lay_out=lay_out, read_back=read_back), limit=1.0)
    server.close()
    one = Eval(
        name="e",
        policy=Policy.USUALLY_PASSES,
        scenario=Scenario(prompts=("p",)),
        checks=(FunctionCheck(function=passes),),
        source=Source(path=Path("x")),
    )
    with pytest.raises(ChecksStopped):
        asyncio.run(server.ask_in_loop(evidence(), one, run_command, no_judge))
