"""A cluster on this machine for several runs of one command: it is started once, and ended with the command."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from demeanor.plugins.cluster.client import require_distributed
from demeanor.plugins.cluster.session import own_processes
from demeanor.plugins.cluster.spec import ClusterSpec


@contextmanager
def shared_cluster(spec: ClusterSpec) -> Iterator[ClusterSpec]:
    """The spec, with the address of a cluster if one is to be started on this machine; unchanged otherwise.

    Its processes are watched by a thread, because each run has an event loop of its own.
    """
    if spec.scheduler:
        yield spec
        return
    require_distributed()
    processes = own_processes(spec)
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="demeanor-cluster", daemon=True)
    thread.start()
    try:
        address = asyncio.run_coroutine_threadsafe(processes.start(), loop).result()
        yield replace(spec, scheduler=address, certs=str(processes.certs), started_here=True)
    finally:
        asyncio.run_coroutine_threadsafe(processes.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
