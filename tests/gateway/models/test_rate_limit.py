"""Rate limits of a provider: concurrency, requests per minute, and Retry-After."""

from __future__ import annotations

import asyncio

from demeanor.gateway.models.provider import retry_after
from demeanor.gateway.models.rate_limit import RateLimiter


class Clock:
    """A clock that only moves while a task sleeps."""

    now = 100.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        await asyncio.sleep(0)


async def passed(throttle: RateLimiter, clock: Clock) -> float:
    """The time at which one request was let through."""
    async with throttle.slot("t"):
        return clock() - 100.0


async def test_a_minute_has_its_limit() -> None:
    """With three allowed per minute, the last of seven requests waits for two minutes."""
    clock = Clock()
    throttle = RateLimiter(per_minute=3, clock=clock, sleep=clock.sleep)
    times = await asyncio.gather(*(passed(throttle, clock) for _ in range(7)))
    assert times == [0, 0, 0, 60, 60, 60, 120]


async def test_old_requests_do_not_count() -> None:
    """The window slides: old requests do not count."""
    clock = Clock()
    throttle = RateLimiter(per_minute=2, clock=clock, sleep=clock.sleep)
    await passed(throttle, clock)
    clock.now += 50
    assert [await passed(throttle, clock) for _ in range(2)] == [50, 60]


async def test_a_provider_that_asks_for_a_pause_gets_it() -> None:
    """No request is let through before Retry-After is over, up to a maximum."""
    clock = Clock()
    throttle = RateLimiter(clock=clock, sleep=clock.sleep)
    throttle.pause(7)
    assert [await passed(throttle, clock) for _ in range(2)] == [7, 7]
    throttle.pause(10_000)
    assert await passed(throttle, clock) == 127


async def test_slots_are_released() -> None:
    """A request that fails or is cancelled releases its slot."""
    throttle = RateLimiter(concurrency=1)
    holding = asyncio.Event()

    async def pause() -> None:
        async with throttle.slot("t"):
            holding.set()
            await asyncio.Event().wait()

    first = asyncio.ensure_future(pause())
    await holding.wait()
    second = asyncio.ensure_future(passed(throttle, Clock()))
    await asyncio.sleep(0)
    assert not second.done()
    first.cancel()
    await second


def test_retry_after_is_read_in_all_its_forms() -> None:
    """Seconds, milliseconds or a date; anything else is ignored."""
    assert retry_after({"Retry-After": "7"}) == 7.0
    assert retry_after({"Retry-After-Ms": "1500", "Retry-After": "2"}) == 1.5
    assert retry_after({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert (retry_after({"Retry-After": "Fri, 01 Jan 2100 00:00:00 GMT"}) or 0) > 1e6
    assert retry_after({"Retry-After": "soon"}) is None
    assert retry_after({}) is None
