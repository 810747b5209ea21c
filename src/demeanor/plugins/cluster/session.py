"""A run's connection to its cluster: an existing one, or one that is started for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from demeanor.plugins.cluster.client import connect, require_distributed, require_no_retries
from demeanor.plugins.cluster.cluster_run import ClusterRun
from demeanor.plugins.cluster.connection import ClusterConnection
from demeanor.plugins.cluster.local_cluster import LocalClusterProcess
from demeanor.plugins.cluster.worker_pool import WorkerPool


class ClusterSession:
    """The connection of one run to its cluster."""

    def __init__(self, run: ClusterRun) -> None:
        self._run = run
        self._own: LocalClusterProcess | None = None
        self._connection: ClusterConnection | None = None
        self._pool: WorkerPool | None = None

    async def open(
        self,
        changed: Callable[[int, int], None] = lambda workers, slots: None,
        abort: Callable[[str], None] = lambda reason: None,
    ) -> WorkerPool:
        """Start or find the cluster; returns the pool of workers, which is not started.

        `changed` is told the numbers of workers and slots when they change; `abort` ends the run. Raises UsageError.
        """
        require_distributed()
        run, spec = self._run, self._run.spec
        address, certs = spec.scheduler, Path(spec.certs)
        if not address:
            self._own = LocalClusterProcess(spec)
            address = await asyncio.to_thread(self._own.start)
            certs = self._own.certs
        self._connection = await connect(address, certs)
        await require_no_retries(self._connection, address)
        project = await asyncio.to_thread(run.project) if run.project else None
        if project is not None:
            run = replace(run, setup=replace(run.setup, root="", project=project.sha256))
        self._pool = WorkerPool(self._connection, run, project, changed=changed, abort=abort)
        return self._pool

    async def close(self) -> None:
        """End the run on all workers, then the connection, then the cluster if it is ours."""
        if self._pool is not None:
            await self._pool.stop()
        if self._connection is not None:
            await self._connection.close()
            self._connection = None
        if self._own is not None:
            await asyncio.to_thread(self._own.stop)
            self._own = None
