"""Turns: what a trial waits for is one request of each other trial, however many requests these have."""

from __future__ import annotations

import asyncio

from demeanor.gateway.models.rate_limit import RateLimiter
from demeanor.gateway.models.turns import Turns


async def order_of(turns: Turns, *owners: str) -> list[str]:
    """The order in which requests of these owners get their turn, if they arrive in this one."""
    order: list[str] = []

    async def request(owner: str) -> None:
        async with turns.turn(owner):
            order.append(owner)
            await asyncio.sleep(0)

    await asyncio.gather(*map(request, owners))
    return order


async def test_trials_take_turns() -> None:
    """The second trial is not behind the fifty requests of the first."""
    assert "".join(await order_of(Turns(1), *"aaaaaabbc")) == "abcabaaaa"
    assert (await order_of(Turns(2), *"a" * 50, "b")).index("b") == 2


async def test_a_trial_that_holds_slots_waits_for_one_that_holds_none() -> None:
    """A slot that becomes free goes to the trial that holds the fewest."""
    turns, order = Turns(2), []
    hold = [asyncio.Event() for _ in range(3)]

    async def request(owner: str, until: asyncio.Event) -> None:
        async with turns.turn(owner):
            order.append(owner)
            await until.wait()

    tasks = [asyncio.ensure_future(request("a", event)) for event in hold[:2]]
    await asyncio.sleep(0)
    tasks += [asyncio.ensure_future(request("a", hold[2])), asyncio.ensure_future(request("b", hold[2]))]
    await asyncio.sleep(0)
    hold[0].set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert order == ["a", "a", "b"]
    for event in hold:
        event.set()
    await asyncio.gather(*tasks)


async def test_who_gives_up_loses_no_slot() -> None:
    """Before the turn has come, and at the moment when it comes."""
    turns = Turns(1)

    async def wait() -> None:
        async with turns.turn("a"):
            raise AssertionError("not reached")

    async with turns.turn("b"):
        early, late = asyncio.create_task(wait()), asyncio.create_task(wait())
        await asyncio.sleep(0)
        early.cancel()
    late.cancel()
    await asyncio.gather(early, late, return_exceptions=True)
    async with asyncio.timeout(60), turns.turn("a"):
        pass


async def test_a_minute_is_shared_in_turns() -> None:
    """Of the requests that wait for the next minute, each trial's first is next."""
    now, order = [0.0], []

    async def sleep(seconds: float) -> None:
        now[0] += seconds
        await asyncio.sleep(0)

    limiter = RateLimiter(per_minute=2, clock=lambda: now[0], sleep=sleep)

    async def request(owner: str) -> None:
        async with limiter.slot(owner):
            order.append(owner)

    await asyncio.gather(*map(request, "aaaaaab"))
    assert "".join(order[:4]) == "aaab"
