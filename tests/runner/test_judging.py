"""Where attempts are judged: small ones in the event loop, all others in a thread; the verdicts are the same."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from demeanor.config.config import read_config
from demeanor.core.values.run_request import RunRequest
from demeanor.runner.catalog import Catalog
from demeanor.runner.execution import execute_async, prepare
from demeanor.runner.plan import plan_evals
from demeanor.runner.schedule import Stop
from demeanor.runner.selection import collect_evals

CONFIG = """\
subjects = ["writer"]
sandbox = "none"
jobs = 1
[agents.writer]
adapter = "command"
command = ["sh", "-c", "{script}", "{{prompt}}"]
"""
EVAL = """\
from demeanor import ALWAYS_PASSES, eval_test

@eval_test(ALWAYS_PASSES, prompt="Write out.txt.")
def writes(rig, result):
    assert rig.workspace["out.txt"].text.startswith("hi")
    assert rig.workspace.run("cat", "out.txt").stdout.startswith("hi")
"""


def judged_where(folder: Path, script: str) -> tuple[list[str], list[str]]:
    """Where the attempts of three trials were judged, and their outcomes."""
    (folder / "evals").mkdir()
    (folder / "demeanor.toml").write_text(CONFIG.format(script=script))
    (folder / "evals/eval_writes.py").write_text(EVAL)
    catalog = Catalog(config=read_config(folder, None), environ=os.environ)
    request = RunRequest(trials=3, policy="all", jobs=1)
    plan = plan_evals(catalog, collect_evals(catalog.config), request, os.environ)
    run = prepare(catalog, plan, request, folder / "results")
    checks, where = run.context.checks, list[str]()
    assert checks.ask_in_loop is not None
    real = checks.ask_in_loop

    def in_thread(*question: Any) -> Any:
        where.append("thread")
        return checks.ask(*question)

    async def in_loop(*question: Any) -> Any:
        where.append("loop")
        return await real(*question)

    watched = replace(checks, ask=in_thread, ask_in_loop=in_loop)
    run = replace(run, context=replace(run.context, checks=watched))
    asyncio.run(execute_async(run, watch=lambda news: None, stop=Stop()))
    return where, [record.verdict.outcome for record in run.folder.records()]


@pytest.mark.parametrize(
    ("script", "places"),
    [
        ("printf hi > out.txt", ["thread", "loop", "loop"]),
        ("printf hi > out.txt; head -c 70000 /dev/zero >> out.txt", ["thread"] * 3),
        ("printf hi > out.txt; head -c 70000 /dev/zero", ["thread"] * 3),
    ],
    ids=["small", "large file", "much output"],
)
def test_small_attempts_are_judged_in_the_loop(tmp_path: Path, script: str, places: list[str]) -> None:
    """The first attempt of a cell asks for the agent's version and stores the starting state, so it has a thread."""
    assert judged_where(tmp_path, script) == (places, ["pass"] * 3)
