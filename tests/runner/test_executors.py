from __future__ import annotations

import asyncio
import subprocess
import sys
from types import SimpleNamespace
from typing import Any, cast

from demeanor.core.values.capture import Capture
from demeanor.core.values.trial import Trial
from demeanor.runner.executors import LocalExecutor, SharedExecutor


def test_two_runs_share_slots_and_interleave() -> None:
    """No more than the shared slots are used, and neither run waits for the end of the other."""
    order: list[str] = []
    busy: list[int] = [0, 0]

    async def attempt(trial: Trial, number: int) -> Capture:
        busy[0] += 1
        busy[1] = max(busy)
        await asyncio.sleep(0)
        order.append(trial.id)
        busy[0] -= 1
        return cast(Capture, None)

    async def both() -> None:
        turns = asyncio.Semaphore(2)
        sides = [SharedExecutor(LocalExecutor(slots=2, attempt=attempt), turns) for _ in "ab"]
        assert [side.slots for side in sides] == [2, 2]

        async def work(side: SharedExecutor, name: str) -> None:
            for _ in range(5):
                trial: Any = SimpleNamespace(id=name)
                await side.run_attempt(trial, 1)

        await asyncio.gather(*(work(side, name) for side, name in zip(sides, "ab", strict=True) for _ in range(2)))

    asyncio.run(both())
    assert busy[1] == 2
    firsts, lasts = order[:10], order[10:]
    assert 3 <= firsts.count("a") <= 7
    assert 3 <= lasts.count("a") <= 7


def test_a_local_run_does_not_load_dask() -> None:
    """Its import takes longer than a short run."""
    code = "import sys, demeanor.commands.run.command, demeanor.runner.execution; print('distributed' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
