"""Rate limits of a provider that hold on all workers of a cluster together, by semaphores of Dask's scheduler.

A request takes a lease of the provider's semaphore while it lasts, and one of a second semaphore for the minute after
its start, which has as many leases as requests are allowed per minute. A worker that dies loses its leases after half
a minute.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

from demeanor.core.values.fingerprints import short_hash
from demeanor.gateway.models import RateLimiter

if TYPE_CHECKING:
    from distributed import Worker

    from demeanor.gateway.models import Provider

_MINUTE = 60.0


def limit_across_cluster(provider: Provider, worker: Worker) -> None:
    """Let the limits of a provider hold on the whole cluster, instead of on this worker."""
    limits = provider.rate_limiter
    if isinstance(limits, ClusterRateLimiter) or not (limits.concurrency or limits.per_minute):
        return
    name = f"demeanor-{provider.name}-{short_hash(provider.base_url)}"
    provider.rate_limiter = ClusterRateLimiter(
        name, worker, concurrency=limits.concurrency, per_minute=limits.per_minute
    )


class ClusterRateLimiter(RateLimiter):
    """A rate limiter that shares its limits with those of the same name on other workers.

    A pause that the provider asks for holds back the requests of this worker.
    """

    def __init__(
        self,
        name: str,
        worker: Worker,
        *,
        concurrency: int | None = None,
        per_minute: int | None = None,
        minute: float = _MINUTE,
    ) -> None:
        from distributed import Semaphore

        super().__init__()
        self.concurrency = concurrency
        self.per_minute = per_minute
        self._loop = worker.loop.asyncio_loop
        self._minute = minute

        def semaphore(kind: str, leases: int | None) -> Semaphore | None:
            if leases is None:
                return None
            return Semaphore(
                max_leases=leases, name=f"{name}-{kind}-{leases}", scheduler_rpc=worker.scheduler, loop=worker.loop
            )

        self._at_once = semaphore("at-once", concurrency)
        self._in_a_minute = semaphore("in-a-minute", per_minute)

    @asynccontextmanager
    async def slot(self, owner: str) -> AsyncIterator[None]:
        """Wait for leases and for the end of a pause; hold them until the end of the block, and of the minute.

        One request of a worker at a time waits for leases, so that its trials take turns.
        """
        async with AsyncExitStack() as stack:
            async with self._pace.turn(owner):
                if self._at_once is not None:
                    await self._on_worker(self._lease(self._at_once))
                    stack.push_async_callback(self._on_worker, self._release(self._at_once))
                if self._in_a_minute is not None:
                    await self._on_worker(self._lease(self._in_a_minute, seconds=self._minute))
                await self._wait()
            yield

    async def _lease(self, semaphore: Any, *, seconds: float | None = None) -> None:
        """Take a lease; with `seconds`, it is given back after so long."""
        await semaphore.acquire()
        if seconds is not None:
            self._loop.call_later(seconds, lambda: self._loop.create_task(self._release(semaphore)))

    async def _release(self, semaphore: Any) -> None:
        await semaphore.release()

    async def _on_worker(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something in the event loop of Dask's worker."""
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))
