"""Limits of a provider: how many at once, how many in a minute, and when it asked to be left alone."""

from __future__ import annotations

import asyncio

from demeanor.gateway.models.provider import retry_after
from demeanor.gateway.models.rate_limit import RateLimiter


class Clock:
    """A clock that only moves while somebody sleeps."""

    now = 100.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        await asyncio.sleep(0)


async def passed(throttle: RateLimiter, clock: Clock) -> float:
    """When one request was let through."""
    async with throttle.slot():
        return clock() - 100.0


async def test_a_minute_has_its_limit() -> None:
    """Of seven requests with three allowed in any minute, the last one waits for two minutes."""
    clock = Clock()
    throttle = RateLimiter(per_minute=3, clock=clock, sleep=clock.sleep)
    times = await asyncio.gather(*(passed(throttle, clock) for _ in range(7)))
    assert times == [0, 0, 0, 60, 60, 60, 120]


async def test_old_requests_do_not_count() -> None:
    """The minute slides: what is long ago holds nobody back."""
    clock = Clock()
    throttle = RateLimiter(per_minute=2, clock=clock, sleep=clock.sleep)
    await passed(throttle, clock)
    clock.now += 50
    assert [await passed(throttle, clock) for _ in range(2)] == [50, 60]


async def test_a_provider_that_asks_for_a_pause_gets_it() -> None:
    """Nobody is let through before the time that Retry-After names, within reason."""
    clock = Clock()
    throttle = RateLimiter(clock=clock, sleep=clock.sleep)
    throttle.hold(7)
    assert [await passed(throttle, clock) for _ in range(2)] == [7, 7]
    throttle.hold(10_000)
    assert await passed(throttle, clock) == 127


async def test_places_are_given_back() -> None:
    """A request that fails or is cancelled frees its place for the next one."""
    throttle = RateLimiter(concurrency=1)
    holding = asyncio.Event()

    async def hold() -> None:
        async with throttle.slot():
            holding.set()
            await asyncio.Event().wait()

    first = asyncio.ensure_future(hold())
    await holding.wait()
    second = asyncio.ensure_future(passed(throttle, Clock()))
    await asyncio.sleep(0)
    assert not second.done()
    first.cancel()
    await second


def test_retry_after_is_read_in_all_its_forms() -> None:
    """Seconds, milliseconds, a date; anything else says nothing."""
    assert retry_after({"Retry-After": "7"}) == 7.0
    assert retry_after({"Retry-After-Ms": "1500", "Retry-After": "2"}) == 1.5
    assert retry_after({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert (retry_after({"Retry-After": "Fri, 01 Jan 2100 00:00:00 GMT"}) or 0) > 1e6
    assert retry_after({"Retry-After": "soon"}) is None
    assert retry_after({}) is None
