from __future__ import annotations

import asyncio
from typing import Any

import pytest

from demeanor.runner.executors.worker_link import WorkerLink, WorkerLost


class Answers:
    """Stands for Dask's client: a call returns what the test decides, when it decides."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    async def run(self, function: object, *arguments: object, workers: list[str]) -> dict[str, Any]:
        """The answer of each worker."""
        return await self.answer


async def link_to(client: Any) -> WorkerLink:
    return WorkerLink(client, "tls://w:1", name="w", slots=1, resources={})


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
