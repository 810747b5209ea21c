"""Limits of the machine: what it refuses while an agent runs is not the agent's failure."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from demeanor.agents.command import CommandAgent
from demeanor.core.trees.open_files import note_shortage
from demeanor.core.values.agent import Orders
from demeanor.core.values.process import Launch, Limits, ProcessEnd
from demeanor.runner.agent_run import AgentRun, Refusals, refusals

FAILED, KILLED = ProcessEnd(exit_code=1), ProcessEnd(signal=9)


@pytest.mark.parametrize(
    ("groups", "line"),
    [
        ("", "0::/user.slice/a.scope"),
        ("pids", "8:pids:/user.slice/a.scope\n0::/other"),
        ("", "1:cpu:/x\n0::/user.slice"),
    ],
)
def test_the_counters_of_the_kernel_are_read(tmp_path: Path, groups: str, line: str) -> None:
    """Of our control group and of those above it, in both versions of control groups; others don't count."""
    for folder, number in (("", 1), ("user.slice", 2), ("other", 50)):
        group = tmp_path / groups / folder
        group.mkdir(parents=True, exist_ok=True)
        (group / "pids.events").write_text(f"max {number}\n")
    (tmp_path / "self").mkdir()
    (tmp_path / "self/cgroup").write_text(f"{line}\n")
    (tmp_path / "vmstat").write_text("nr_free_pages 77\noom_kill 5\n")
    assert refusals(tmp_path, tmp_path) == replace(refusals(tmp_path, tmp_path / "none"), processes=3, killed=5)


def test_what_can_not_be_read_counts_as_nothing(tmp_path: Path) -> None:
    found = refusals(tmp_path, tmp_path)
    assert (found.processes, found.killed) == (0, 0)


def test_a_limit_explains_only_what_failed_by_it() -> None:
    """A kill without a limit of the trial's own, and any failure while processes or files were refused."""
    before = Refusals(processes=3, killed=5, files=1)
    assert before.reason(before, KILLED) is None
    for now, end, expected in (
        (replace(before, killed=6), KILLED, "ran out of memory"),
        (replace(before, killed=6), ProcessEnd(exit_code=137), "ran out of memory"),
        (replace(before, processes=4), FAILED, "could start no more processes"),
        (replace(before, files=2), FAILED, "too many open files"),
    ):
        assert expected in (now.reason(before, end) or "")
        assert now.reason(before, replace(end, ended_by="wall")) is None
    assert replace(before, killed=6).reason(before, FAILED) is None
    assert replace(before, processes=4, killed=6).reason(before, ProcessEnd(signal=9, ended_by="memory")) is None


def test_an_agent_that_fails_meanwhile_is_not_to_blame() -> None:
    """Its run says which limit it was, for a program that failed and not for one that succeeded."""

    class Session:
        async def run(self, launch: Launch, **_: Any) -> ProcessEnd:
            note_shortage("a connection")
            return ProcessEnd(exit_code=int(launch.argv[0]))

    def refused(code: str) -> str | None:
        orders = Orders(launches=(Launch(argv=(code,)),))
        any_: Any = None
        agent = CommandAgent(name="mine", program=any_)
        run = AgentRun(
            agent=agent, task=any_, orders=orders, order=any_, sandbox=cast(Any, Session()), gateway=None,
            limits=Limits(wall=60.0),
        )  # fmt: skip
        asyncio.run(run.run(str))
        return run.refused

    assert "too many open files" in (refused("1") or "")
    assert refused("0") is None
