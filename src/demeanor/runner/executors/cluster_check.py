"""Asks every worker of a cluster what it can do: `demeanor cluster check`."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from pathlib import Path

from demeanor.core.run_request import RunRequest
from demeanor.core.subject import Subject
from demeanor.core.trial import Plan
from demeanor.runner.catalog import Catalog
from demeanor.runner.executors.cluster_client import check_address, connect, require_distributed, require_no_retries
from demeanor.runner.executors.cluster_processes import ClusterProcesses
from demeanor.runner.executors.dask import SILENCE
from demeanor.runner.executors.messages import WorkerReport
from demeanor.runner.executors.run_setup import needs_project, pack_project, run_setup
from demeanor.runner.executors.worker_pool import WorkerPool


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedWorker:
    """One worker, and whether runs would use it."""

    name: str
    """Its name."""

    address: str
    """Its address."""

    slots: int
    """The attempts that it makes in parallel."""

    report: WorkerReport
    """What it says about itself."""

    clock_skew: float
    """At least how many seconds its clock is ahead of ours (behind, if negative)."""

    problem: str
    """Why it is not used; empty if it is."""


async def check_cluster(catalog: Catalog, subjects: tuple[Subject, ...], sandbox: str | None) -> list[CheckedWorker]:
    """Every worker of the cluster that the configuration selects; raises UsageError if it can't be reached."""
    require_distributed()
    config = catalog.config
    spec = config.executor
    setup = replace(run_setup(catalog, Plan(cells=()), RunRequest(sandbox=sandbox), seed=0), subjects=subjects)
    own: ClusterProcesses | None = None
    project = None
    address, certs = spec.scheduler, Path(spec.certs) if spec.certs else None
    if address:
        check_address(address, spec.certs)
        if needs_project(config):
            project = await asyncio.to_thread(pack_project, config)
            setup = replace(setup, root="", project=project.sha256)
    try:
        if not address:
            own = ClusterProcesses(workers=spec.workers or 2, slots=spec.slots or 1, tls=not spec.insecure_loopback)
            address = await own.start()
            certs = own.certs
        client = await connect(address, certs)
        try:
            await require_no_retries(client, address)
            pool = WorkerPool(
                client,
                setup,
                slots=spec.slots,
                silence=spec.silence or SILENCE,
                expected=own.workers if own else 1,
                changed=lambda slots: None,
                abort=lambda reason: None,
                project=project,
            )
            await pool.survey()
            found = [
                CheckedWorker(
                    name=link.name,
                    address=link.address,
                    slots=link.slots,
                    report=link.report,
                    clock_skew=link.clock_skew,
                    problem=link.report.problem or link.why_lost,
                )
                for link in pool.links
            ]
            await pool.stop()
        finally:
            await client.close(timeout=2)
    finally:
        if own is not None:
            await own.stop()
    return sorted(found, key=lambda worker: worker.name)
