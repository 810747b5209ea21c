"""A cluster on this machine for several runs of one command: it is started once, and ended with the command."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from demeanor.config import Config


@contextmanager
def shared_cluster(config: Config) -> Iterator[Config]:
    """The configuration, with the address of a cluster if one is to be started on this machine; unchanged otherwise.

    Its processes are watched by a thread, because each run has an event loop of its own.
    """
    spec = config.executor
    if not spec.is_cluster or spec.scheduler:
        yield config
        return
    from demeanor.runner.executors.cluster_client import require_distributed
    from demeanor.runner.executors.cluster_session import own_processes

    require_distributed()
    processes = own_processes(spec)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="demeanor-cluster", daemon=True)
    thread.start()
    try:
        address = asyncio.run_coroutine_threadsafe(processes.start(), loop).result()
        certs = str(processes.certs)
        yield replace(config, executor=replace(spec, scheduler=address, certs=certs, started_here=True))
    finally:
        asyncio.run_coroutine_threadsafe(processes.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
