"""Asks every worker of a cluster what it can do, and starts every agent there: `demeanor cluster check`."""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from demeanor.core.text.wording import printable
from demeanor.core.trees.temp_names import temp_prefix
from demeanor.core.trees.tree import Tree
from demeanor.core.values.errors import StoreError, WorldError
from demeanor.core.values.ports import CommandResult
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Plan, Trial
from demeanor.core.values.verdict import Pass, VoidCause
from demeanor.plugins.cluster.client import require_certificates
from demeanor.plugins.cluster.cluster_run import ClusterRun
from demeanor.plugins.cluster.messages import AttemptRequest, BadMessage, WorkerReport
from demeanor.plugins.cluster.run_setup import project_packer, run_setup
from demeanor.plugins.cluster.session import ClusterSession
from demeanor.plugins.cluster.spec import ClusterSpec
from demeanor.plugins.cluster.worker_attempt import PackedStart, WorkerAttempts, pack_start
from demeanor.plugins.cluster.worker_link import WorkerLink, WorkerLost
from demeanor.runner import START_TIMEOUT, Catalog, JudgingContext, build_template, judged, start_eval, start_subjects


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

    broken: Mapping[str, str] = field(default_factory=dict)
    """The agents that are installed there but do not start in its sandbox → why."""


async def check_cluster(catalog: Catalog, spec: ClusterSpec, subjects: tuple[Subject, ...]) -> list[CheckedWorker]:
    """Every worker of a cluster; raises UsageError if it can't be reached."""
    if spec.scheduler:
        require_certificates(spec.scheduler, spec.certs)
    setup = run_setup(catalog, spec, Plan(cells=()), RunRequest(), seed=0)
    names = dict.fromkeys(subject.agent for subject in subjects if subject.agent not in catalog.only_for_tasks)
    starts = [catalog.subject(text) for text in start_subjects(catalog, names, isolated=setup.sandbox != "none")]
    setup = replace(setup, subjects=tuple({str(subject): subject for subject in (*subjects, *starts)}.values()))
    run = ClusterRun(setup=setup, spec=spec, project=project_packer(catalog.config, spec))
    session = ClusterSession(run)
    try:
        pool = await session.open()
        await pool.survey()
        with tempfile.TemporaryDirectory(prefix=temp_prefix()) as folder:
            start = pack_start(build_template(start_eval().scenario, Path(folder, "start")))
            attempts = WorkerAttempts(run, pool, Path(folder))
            checks = (_start_agents(link, starts, run, attempts, start, catalog) for link in pool.links)
            broken = await asyncio.gather(*checks)
        workers = [
            CheckedWorker(
                name=link.name,
                address=link.address,
                slots=link.slots,
                report=link.report,
                clock_skew=link.clock_skew,
                problem=link.report.problem or link.why_lost,
                broken=problems,
            )
            for link, problems in zip(pool.links, broken, strict=True)
        ]
    finally:
        await session.close()
    return sorted(workers, key=lambda worker: worker.name)


async def _start_agents(
    link: WorkerLink,
    subjects: Sequence[Subject],
    run: ClusterRun,
    attempts: WorkerAttempts,
    start: PackedStart,
    catalog: Catalog,
) -> dict[str, str]:
    """Start every agent that is installed on a worker, one after the other: name → why it did not start."""
    broken = {}
    for subject in subjects:
        if not link.usable or subject.agent not in link.report.agents:
            continue
        trial = Trial(eval=start_eval(), subject=subject, number=1, timeout=START_TIMEOUT)
        request = AttemptRequest(
            run=run.id,
            nonce=secrets.token_hex(16),
            eval=trial.eval.name,
            scenario=trial.eval.scenario,
            subject=subject,
            number=trial.number,
            attempt=1,
            timeout=trial.timeout,
            start=start.archive.sha256,
        )
        try:
            capture = await attempts.make(link, trial, request, start)
        except (WorkerLost, BadMessage, StoreError) as error:
            broken[subject.agent] = str(error)
            continue
        judging = JudgingContext(agent=catalog.of(subject), command=_no_command, redactor=catalog.redactor)
        record, _ = judged(trial, 1, capture, judging)
        if not isinstance(record.verdict, Pass):
            broken[subject.agent] = printable(record.verdict.reason)
    return broken


def _no_command(tree: Tree, argv: tuple[str, ...], *, timeout: float) -> CommandResult:
    raise WorldError(VoidCause.HARNESS, "the check of a start runs no commands")
