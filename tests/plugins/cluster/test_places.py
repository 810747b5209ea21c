from __future__ import annotations

import asyncio

from demeanor.plugins.cluster.dask_executor import Places


def test_places_are_given_in_order_and_never_more_than_there_are() -> None:
    """Also when their number changes, and when one that waits is cancelled."""

    async def story() -> list[str]:
        places, events = Places(1), []

        async def work(name: str, end: asyncio.Event) -> None:
            await places.acquire()
            events.append(f"+{name}")
            await end.wait()
            places.release()
            events.append(f"-{name}")

        ends = [asyncio.Event() for _ in range(4)]
        tasks = [asyncio.ensure_future(work(name, end)) for name, end in zip("abcd", ends, strict=True)]
        await _settle()
        assert events == ["+a"]
        tasks[1].cancel()
        places.resize(2)
        await _settle()
        assert events == ["+a", "+c"]
        ends[0].set()
        await _settle()
        ends[2].set()
        ends[3].set()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert places.taken == 0
        return events

    assert asyncio.run(story()) == ["+a", "+c", "-a", "+d", "-c", "-d"]


async def _settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)
