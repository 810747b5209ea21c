"""Asks every worker of a cluster what it can do: `demeanor cluster check`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from demeanor.core.run_request import RunRequest
from demeanor.core.subject import Subject
from demeanor.core.trial import Plan
from demeanor.runner.catalog import Catalog
from demeanor.runner.executors.cluster_client import check_address
from demeanor.runner.executors.cluster_run import ClusterRun
from demeanor.runner.executors.cluster_session import ClusterSession
from demeanor.runner.executors.messages import WorkerReport
from demeanor.runner.executors.run_setup import project_packer, run_setup


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
    config = catalog.config
    spec = config.executor
    if spec.scheduler:
        check_address(spec.scheduler, spec.certs)
    setup = replace(run_setup(catalog, Plan(cells=()), RunRequest(sandbox=sandbox), seed=0), subjects=subjects)
    session = ClusterSession(ClusterRun(setup=setup, spec=spec, project=project_packer(config)))
    try:
        pool = await session.open()
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
    finally:
        await session.close()
    return sorted(found, key=lambda worker: worker.name)
