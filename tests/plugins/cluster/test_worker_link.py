from __future__ import annotations

import asyncio
from typing import Any

import msgpack
import pytest

from demeanor.plugins.cluster import worker_link
from demeanor.plugins.cluster.messages import pack_replies
from demeanor.plugins.cluster.worker import AttemptQueue
from demeanor.plugins.cluster.worker_link import UnknownRun, WorkerLink, WorkerLost


class Answers:
    """Stands for Dask's client: a call returns what the test decides, when it decides."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    async def run(self, function: object, *arguments: object, workers: list[str]) -> dict[str, Any]:
        """The answer of each worker."""
        return await self.answer


async def link_to(client: Any) -> WorkerLink:
    return WorkerLink(client, "tls://w:1", name="w", slots=1)


def test_a_call_that_is_cancelled_when_its_answer_arrives_is_cancelled() -> None:
    """Otherwise a loop that calls a worker regularly would not end, and neither would the run."""

    async def story() -> None:
        client = Answers()
        link = await link_to(client)
        calling = asyncio.ensure_future(link.call(print, seconds=60))
        for _ in range(5):
            await asyncio.sleep(0)
        client.answer.set_result({"tls://w:1": 1})
        for _ in range(3):  # the answer is on its way through the layers of the call
            calling.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await calling

    asyncio.run(story())


def test_a_worker_that_does_not_answer_in_time_is_lost() -> None:
    async def story() -> None:
        link = await link_to(Answers())
        with pytest.raises(WorkerLost, match=r"did not answer within 0.01 seconds"):
            await link.call(print, seconds=0.01)

    asyncio.run(story())


class Worker:
    """Stands for Dask's client and a worker behind it: `exchange_here` is answered by the test's queue."""

    def __init__(self) -> None:
        self.queue = AttemptQueue()
        self.calls: list[tuple[Any, ...]] = []
        self.known = True
        self.broken = False

    async def run(self, function: Any, run: str, *arguments: Any, workers: list[str]) -> dict[str, Any]:
        """What the worker answers."""
        if self.broken:
            raise OSError("the connection is closed")
        if function.__name__ != "exchange_here":
            return dict.fromkeys(workers)
        packed, received, hold, again = arguments
        self.calls.append((packed, received, again))
        if not self.known:
            return dict.fromkeys(workers)
        if packed:
            self.queue.begin(packed.decode(), self.reply(packed))
        return dict.fromkeys(workers, pack_replies(await self.queue.replies(received, hold, again=again)))

    async def reply(self, packed: bytes) -> bytes:
        """An attempt that ends at once."""
        return packed + b" done"


def test_a_short_attempt_takes_one_call_and_the_next_one_confirms_its_reply() -> None:
    async def story() -> None:
        worker = Worker()
        link = await link_to(worker)
        assert await link.attempt("run", "a", b"a", seconds=60) == b"a done"
        assert await link.attempt("run", "b", b"b", seconds=60) == b"b done"
        assert worker.calls == [(b"a", (), False), (b"b", ("a",), False)]

    asyncio.run(story())


def test_a_long_attempt_is_waited_for_by_further_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other attempts end meanwhile."""
    monkeypatch.setattr(worker_link, "_HOLD_SECONDS", 0.01)

    async def story() -> None:
        worker, go = Worker(), asyncio.Event()

        async def slow(packed: bytes) -> bytes:
            if packed == b"slow":
                await go.wait()
            return packed

        worker.reply = slow  # type: ignore[method-assign]
        link = await link_to(worker)
        long = asyncio.ensure_future(link.attempt("run", "slow", b"slow", seconds=600))
        assert await link.attempt("run", "fast", b"fast", seconds=600) == b"fast"
        while len(worker.calls) < 4:
            await asyncio.sleep(0.001)
        assert not long.done()
        go.set()
        assert await long == b"slow"

    asyncio.run(asyncio.wait_for(story(), 300))


def test_a_late_reply_of_an_attempt_that_was_given_up_is_discarded_and_noted() -> None:
    async def story() -> None:
        worker, notes = Worker(), list[str]()
        link: Any = WorkerLink(worker, "tls://w:1", name="w", slots=1, note=notes.append)  # type: ignore[arg-type]
        worker.broken = True
        with pytest.raises(WorkerLost, match="the connection is closed"):
            await link.attempt("run", "a", b"a", seconds=60)
        link.give_up("a", "e/s/1, attempt 1")
        worker.broken = False
        worker.queue.begin("a", worker.reply(b"a"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await link.discard_late("run", seconds=60)
        await link.discard_late("run", seconds=60)
        assert notes == ["a late result was discarded: e/s/1, attempt 1"]
        assert worker.calls == [(None, (), True), (None, ("a",), True)]

    asyncio.run(story())


def test_after_a_call_that_broke_replies_are_asked_for_again() -> None:
    """The worker may have answered it."""

    async def story() -> None:
        worker = Worker()
        link = await link_to(worker)
        worker.broken = True
        with pytest.raises(WorkerLost):
            await link.attempt("run", "a", b"a", seconds=60)
        worker.broken = False
        assert await link.attempt("run", "b", b"b", seconds=60) == b"b done"
        assert worker.calls == [(b"b", (), True)]

    asyncio.run(story())


def test_a_worker_that_does_not_know_the_run_has_not_begun_the_attempt() -> None:
    async def story() -> None:
        worker = Worker()
        worker.known = False
        link = await link_to(worker)
        with pytest.raises(UnknownRun):
            await link.attempt("run", "a", b"a", seconds=60)

    asyncio.run(story())


@pytest.mark.parametrize(
    "answer", [1, (("a", b"x"),), b"", b"\xc1", *map(msgpack.packb, (1, ["a"], [["a"]], [[1, b"x"]], [["a", 1]]))]
)
def test_an_answer_that_is_no_packed_list_of_replies_is_refused(answer: Any) -> None:
    async def story() -> None:
        client = Answers()
        client.answer.set_result({"tls://w:1": answer})
        link = await link_to(client)
        with pytest.raises(WorkerLost, match="sent an invalid answer"):
            await link.attempt("run", "a", b"a", seconds=60)

    asyncio.run(story())
