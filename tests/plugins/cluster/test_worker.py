"""A worker's runtime, with real attempts, in this process; Dask is not needed for it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from demeanor._version import __version__
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.subject import Subject
from demeanor.plugins.cluster.archive import Archive, pack
from demeanor.plugins.cluster.messages import AttemptReply, AttemptRequest, RunSetup, pack_message, unpack_message
from demeanor.plugins.cluster.worker import WorkerRuntime
from demeanor.plugins.cluster.worker_run import PYTHON

SCRIPT = """\
mkdir {folder}/busy || touch {folder}/overlap
sleep 0.05
rmdir {folder}/busy
"""


def setup(run: str, folder: Path) -> RunSetup:
    """A run whose agent notices another one beside it."""
    agent = {"adapter": "command", "command": ["sh", "-c", SCRIPT.format(folder=folder), "{prompt}"]}
    subjects = (Subject(agent="alone", model=""),)
    return RunSetup(
        run=run,
        version=__version__,
        python=PYTHON,
        root=str(folder),
        sandbox="none",
        seed=1,
        subjects=subjects,
        agents={"alone": agent},
    )


def request(run: str, number: int, start: str) -> bytes:
    """An attempt."""
    return pack_message(
        AttemptRequest(
            run=run,
            nonce=f"{run}-{number}",
            eval="e",
            scenario=Scenario(prompts=("Hello",)),
            subject=Subject(agent="alone", model=""),
            number=number,
            attempt=1,
            timeout=60.0,
            start=start,
        )
    )


async def replies(runtime: WorkerRuntime, run: str, number: int) -> list[AttemptReply]:
    """The replies to so many attempts, also those that an earlier call has returned."""
    found: dict[str, AttemptReply] = {}
    while len(found) < number:
        answer = await runtime.exchange(run, None, tuple(found), 60.0, True)
        found |= {nonce: unpack_message(AttemptReply, reply)[0] for nonce, reply in answer or ()}
    await runtime.exchange(run, None, tuple(found), 0.0, False)
    return list(found.values())


def start_of(folder: Path) -> Archive:
    """A starting state with one file."""
    (folder / "start").mkdir()
    (folder / "start/a.txt").write_text("a")
    return pack(folder / "start")


def test_two_runs_share_the_slots_that_the_worker_declares(tmp_path: Path) -> None:
    """Each conductor may send as many attempts as there are slots; more than these are not made at once."""
    start, runtime = start_of(tmp_path), WorkerRuntime()
    dask_worker: Any = SimpleNamespace(state=SimpleNamespace(total_resources={"demeanor": 1}, nthreads=4))

    async def story() -> list[AttemptReply]:
        for run in ("one", "other"):
            report = await runtime.open(setup(run, tmp_path), None, dask_worker)
            assert not report.problem
            await runtime.put_start(run, start.sha256, start.packed)
        for run in ("one", "other"):
            for number in (1, 2):
                await runtime.exchange(run, request(run, number, start.sha256), (), 0.0, False)
        found = [*await replies(runtime, "one", 2), *await replies(runtime, "other", 2)]
        for run in ("one", "other"):
            await runtime.close(run)
        return found

    found = asyncio.run_coroutine_threadsafe(story(), runtime.loop).result(300)
    assert [reply.status for reply in found] == ["done"] * 4
    assert not (tmp_path / "overlap").exists()


def test_a_worker_says_what_it_lacks_and_what_broke(tmp_path: Path) -> None:
    """An unknown run, a starting state that was not sent, and an attempt that raises an error."""
    start, runtime = start_of(tmp_path), WorkerRuntime()

    async def story() -> None:
        assert await runtime.exchange("one", request("one", 1, start.sha256), (), 0.0, False) is None
        await runtime.open(setup("one", tmp_path), None)
        await runtime.exchange("one", request("one", 1, start.sha256), (), 0.0, False)
        (reply,) = await replies(runtime, "one", 1)
        assert reply.status == "needs start"
        await runtime.put_start("one", start.sha256, start.packed)
        broken: Any = None
        runtime.runs["one"].attempt = broken  # type: ignore[method-assign]
        await runtime.exchange("one", request("one", 2, start.sha256), (), 0.0, False)
        (reply,) = await replies(runtime, "one", 1)
        assert (reply.status, reply.nonce) == ("failed", "one-2")
        assert "NoneType" in reply.problem
        await runtime.close("one")

    asyncio.run_coroutine_threadsafe(story(), runtime.loop).result(300)
