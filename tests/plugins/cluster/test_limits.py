"""Limits of a provider on two workers of a real scheduler, all in this process."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def workers() -> Iterator[list[Any]]:
    """Two workers, in an event loop of their own, like that of a worker process."""
    from distributed import LocalCluster

    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    found: list[Any] = []

    async def start() -> Any:
        cluster = await LocalCluster(
            n_workers=2, processes=False, asynchronous=True, dashboard_address="127.0.0.1:0", protocol="inproc://"
        )
        found.extend(cluster.workers.values())
        return cluster

    cluster = asyncio.run_coroutine_threadsafe(start(), loop).result(60)
    yield found

    async def stop() -> None:
        await cluster.close()

    asyncio.run_coroutine_threadsafe(stop(), loop).result(60)
    loop.call_soon_threadsafe(loop.stop)


def requests(limiters: list[Any], number: int) -> tuple[int, list[float]]:
    """Make so many requests on each limiter at the same time: the most at once, and when they started."""
    running = most = 0
    starts: list[float] = []

    async def one(limiter: Any) -> None:
        nonlocal running, most
        async with limiter.slot("t"):
            starts.append(time.monotonic())
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.01)
            running -= 1

    async def story() -> None:
        async with asyncio.timeout(60):
            await asyncio.gather(*(one(limiter) for limiter in limiters for _ in range(number)))

    asyncio.run(story())
    return most, sorted(starts)


def test_requests_at_once_are_limited_on_all_workers_together(workers: list[Any]) -> None:
    from demeanor.plugins.cluster.limits import ClusterRateLimiter

    limiters = [ClusterRateLimiter("acme", worker, concurrency=3) for worker in workers]
    most, starts = requests(limiters, 6)
    assert len(starts) == 12
    assert most == 3


def test_requests_per_minute_are_limited_on_all_workers_together(workers: list[Any]) -> None:
    """The minute is a second here: no more than four requests start in any second."""
    from demeanor.plugins.cluster.limits import ClusterRateLimiter

    limiters = [ClusterRateLimiter("other", worker, per_minute=4, minute=1.0) for worker in workers]
    _, starts = requests(limiters, 3)
    assert len(starts) == 6
    assert starts[4] - starts[0] >= 0.5  # a request may be slow to say that it started
    assert starts[5] - starts[1] >= 0.5


def test_the_limits_of_a_provider_are_moved_to_the_cluster(workers: list[Any]) -> None:
    """Those of other providers stay, because there are none."""
    from demeanor.gateway.dialects import DIALECTS
    from demeanor.gateway.models.provider import Provider
    from demeanor.plugins.cluster.limits import ClusterRateLimiter, limit_across_cluster

    dialects = [DIALECTS["openai-chat"]]
    limited = Provider("acme", base_url="http://a.example/v1", dialects=dialects, concurrency=1)
    free = Provider("free", base_url="http://b.example/v1", dialects=dialects)
    for provider in (limited, free):
        limit_across_cluster(provider, workers[0])
    assert isinstance(limited.rate_limiter, ClusterRateLimiter)
    assert limited.rate_limiter.concurrency == 1
    assert not isinstance(free.rate_limiter, ClusterRateLimiter)
