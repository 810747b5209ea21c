from __future__ import annotations

import asyncio

from demeanor.plugins.cluster.worker import AttemptQueue

LONG = 600.0
"""Seconds; it only guards against hanging."""


async def made(reply: bytes) -> bytes:
    """An attempt that ends at once."""
    return reply


def test_a_call_waits_for_the_first_reply_and_gets_each_reply_once() -> None:
    async def story() -> None:
        queue = AttemptQueue()
        go = asyncio.Event()

        async def waiting() -> bytes:
            await go.wait()
            return b"slow"

        queue.begin("slow", waiting())
        queue.begin("fast", made(b"fast"))
        assert await queue.replies((), LONG) == (("fast", b"fast"),)
        assert await queue.replies((), 0) == ()
        last = asyncio.ensure_future(queue.replies(("fast",), LONG))
        go.set()
        assert await last == (("slow", b"slow"),)

    asyncio.run(story())


def test_replies_that_did_not_arrive_are_sent_again_and_others_are_forgotten() -> None:
    """A call may break after the worker has answered."""

    async def story() -> None:
        queue = AttemptQueue()
        for name in ("one", "two"):
            queue.begin(name, made(name.encode()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert len(await queue.replies((), LONG)) == 2
        assert await queue.replies(("one",), 0, again=True) == (("two", b"two"),)
        assert await queue.replies(("two",), 0, again=True) == ()

    asyncio.run(story())


def test_an_attempt_that_is_cancelled_has_no_reply() -> None:
    async def story() -> None:
        queue = AttemptQueue()

        async def cancelled() -> bytes:
            raise asyncio.CancelledError

        queue.begin("ended", cancelled())
        queue.begin("made", made(b"x"))
        assert await queue.replies((), LONG) == (("made", b"x"),)

    asyncio.run(story())
