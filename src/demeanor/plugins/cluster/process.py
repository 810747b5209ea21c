"""`python -m demeanor.plugins.cluster.process`: the scheduler or a worker of a cluster on this machine.

It prints its address as one line of JSON, and ends when its standard input is closed: also when the process that
started it is killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from demeanor.core.text.codec import decode

HOST = "127.0.0.1"

SETTINGS: dict[str, Any] = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.scheduler.worker-ttl": "120s",
    "distributed.scheduler.reuse-broadcast-comm": True,
    "distributed.scheduler.http.routes": [],
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.http.routes": [],
    "distributed.worker.profile.enabled": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.terminate": False,
    "distributed.comm.require-encryption": None,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.disk": False,
}
"""Nothing is retried behind our back, nothing is served over HTTP, no worker is restarted for its memory, and processes
that wait use next to no CPU time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessOptions:
    """What the process is to be."""

    role: Literal["scheduler", "worker"]
    """Scheduler or worker."""

    certs: str
    """The folder with the certificates."""

    scheduler: str = ""
    """The address of a worker's scheduler."""

    name: str = ""
    """A worker's name."""

    slots: int = 1
    """The attempts that a worker makes in parallel."""

    folder: str = ""
    """A folder for the temporary files of a worker."""


def main() -> None:
    """Run until standard input is closed."""
    options = decode(ProcessOptions, json.loads(sys.argv[1]))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    asyncio.run(_serve(options))


def _end_with_parent() -> None:
    while os.read(0, 4096):
        pass
    os._exit(0)  # sandboxes of a worker end with it: their fork servers notice


async def _serve(options: ProcessOptions) -> None:
    import dask
    from distributed import Scheduler, Worker
    from distributed.security import Security

    from demeanor.plugins.cluster.certificates import CertificateFolder
    from demeanor.plugins.cluster.client import RESOURCE

    dask.config.set(SETTINGS)
    common: dict[str, Any] = {
        "security": Security(**CertificateFolder(folder=Path(options.certs)).security(options.role)),
        "protocol": "tls",
        "host": HOST,
        "dashboard_address": f"{HOST}:0",
        "dashboard": False,
    }
    server: Any
    if options.role == "scheduler":
        server = Scheduler(port=0, allowed_failures=0, **common)
    else:
        server = Worker(
            options.scheduler,
            name=options.name,
            nthreads=options.slots,
            resources={RESOURCE: options.slots},
            memory_limit=0,
            local_directory=options.folder,
            **common,
        )
    async with server:
        sys.stdout.write(json.dumps({"address": server.address}) + "\n")
        sys.stdout.flush()
        await server.finished()


if __name__ == "__main__":
    main()
