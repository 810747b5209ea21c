"""Runs attempts on the workers of a Dask cluster.

This process plans, judges and stores; workers only make captures. Each attempt is sent to one worker, and to no other:
if that worker dies, does not answer or sends something invalid, the attempt is void(worker), which is stored like any
other attempt and retried by our own policy. A result that arrives after its attempt was given up is discarded.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TypeAlias

from demeanor.config import Limit
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import StoreError, WorldError
from demeanor.core.values.ports import Template
from demeanor.core.values.progress import Progress, WorkersChanged
from demeanor.core.values.record import Record
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.trial import Trial
from demeanor.core.values.verdict import VoidCause
from demeanor.plugins.cluster.budget_ledger import BudgetLedger
from demeanor.plugins.cluster.cluster_run import ClusterRun
from demeanor.plugins.cluster.messages import AttemptRequest, BadMessage
from demeanor.plugins.cluster.run_setup import project_packer, run_setup, sent_scenario
from demeanor.plugins.cluster.session import ClusterSession
from demeanor.plugins.cluster.spec import ClusterSpec
from demeanor.plugins.cluster.worker_attempt import PackedStart, WorkerAttempts, pack_start
from demeanor.plugins.cluster.worker_link import WorkerLost
from demeanor.plugins.cluster.worker_pool import WorkerPool
from demeanor.runner import ExecutorRun, budget_limits, capture_errors, cassette_text

Cassettes: TypeAlias = Callable[[Trial], tuple[bytes | None, str]]
"""The text of a trial's cassette, or the reason why there is none."""

_UNKNOWN_SLOTS = 1000
"""Of a cluster that is not connected yet."""


def dask_executor(spec: ClusterSpec, run: ExecutorRun) -> DaskExecutor:
    """The executor of a run on a cluster."""
    catalog, request, config = run.catalog, run.request, run.catalog.config
    setup = run_setup(catalog, spec, run.plan, request, seed=run.seed)
    return DaskExecutor(
        ClusterRun(setup=setup, spec=spec, project=project_packer(config, spec)),
        template=run.template,
        cassette=None if request.replay is None else partial(cassette_text, request.replay),
        folder=run.folder,
        ledger=BudgetLedger(budget_limits(config, request)),
        jobs=request.jobs or config.jobs,
    )


class DaskExecutor:
    """Runs attempts on a cluster: an existing one, or one that is started for this run."""

    def __init__(
        self,
        run: ClusterRun,
        *,
        template: Callable[[Scenario], Awaitable[Template]],
        cassette: Cassettes | None,
        folder: Path,
        ledger: BudgetLedger,
        jobs: int | None = None,
    ) -> None:
        """`folder` is for temporary files; `jobs` limits the attempts in parallel on all workers together.

        `cassette` finds what is replayed; None if models answer.
        """
        self._run = run
        self._ledger = ledger
        self._template = template
        self._cassette = cassette
        self._folder = folder
        self._jobs = jobs
        self._places = Places()
        self._starts: dict[Path, PackedStart] = {}
        self._packing = asyncio.Lock()
        self._scenarios: dict[int, tuple[Scenario, Scenario]] = {}
        self._session = ClusterSession(run)
        self._pool: WorkerPool | None = None
        self._watch: Callable[[Progress], None] = lambda news: None

    @property
    def slots(self) -> int:
        """The number of attempts in parallel; before the start, the number that is expected."""
        if self._pool is not None:
            return self._places.total
        spec = self._run.spec
        return self._jobs or (self._run.expected * (spec.slots or 1) if spec.is_here else _UNKNOWN_SLOTS)

    @property
    def notes(self) -> tuple[str, ...]:
        """Workers that were not used or were lost, and results that were discarded."""
        return tuple(self._pool.notes) if self._pool else ()

    async def start(self, abort: Callable[[str], None], watch: Callable[[Progress], None] = lambda news: None) -> None:
        """Start or find the cluster; raises UsageError if no worker of it can be used."""
        self._watch = watch
        try:
            self._pool = await self._session.open(self._resize, abort)
            await self._pool.start()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """End all attempts on all workers, then the connection, then the cluster if it is ours."""
        await self._session.close()

    def free_slots(self) -> Places:
        """The slots of all workers that are used."""
        return self._places

    def continue_from(self, records: Iterable[Record], *, usd: float | None, tokens: int | None) -> None:
        """Start with what earlier parts of the run have spent."""
        self._ledger.continue_from(records, Limit(usd=usd, tokens=tokens))

    def settle(self, record: Record) -> None:
        """Settle what an attempt had reserved of the budgets."""
        self._ledger.settle(record)

    async def run_attempt(self, trial: Trial, attempt: int) -> Capture:
        """Run one attempt on a worker."""
        return await capture_errors(trial, attempt, self._attempt(trial, attempt))

    def _resize(self, workers: int, slots: int) -> None:
        self._places.resize(min(slots, self._jobs or slots))
        self._watch(WorkersChanged(workers=workers, slots=slots if workers else 0))

    async def _attempt(self, trial: Trial, attempt: int) -> Capture:
        start = await self._start_of(await self._template(trial.eval.scenario))
        text, problem = await asyncio.to_thread(self._cassette, trial) if self._cassette else (None, "")
        eval_left, run_left = await self._ledger.reserve(trial)
        request = AttemptRequest(
            run=self._run.id,
            nonce=secrets.token_hex(16),
            eval=trial.eval.name,
            scenario=self._sent(trial),
            subject=trial.subject,
            number=trial.number,
            attempt=attempt,
            timeout=trial.timeout,
            start=start.archive.sha256,
            cassette=text,
            cassette_problem=problem,
            eval_budget=eval_left,
            run_budget=run_left,
        )
        assert self._pool is not None  # noqa: S101 - it was started
        async with self._pool.worker() as link:
            try:
                capture = await WorkerAttempts(self._run, self._pool, self._folder).make(link, trial, request, start)
            except (WorkerLost, BadMessage, StoreError) as error:
                how = "was lost: it" if isinstance(error, WorkerLost) else "sent an invalid result:"
                self._pool.count(link, str(error))
                raise WorldError(VoidCause.WORKER, f"the worker {link} {how} {error}") from None
            broken = capture.breakdown
            self._pool.count(link, broken.detail if broken and broken.cause is VoidCause.SANDBOX else "")
            return capture

    def _sent(self, trial: Trial) -> Scenario:
        """The scenario as it is sent, made once for all trials of an eval."""
        scenario = trial.eval.scenario
        if id(scenario) not in self._scenarios:
            self._scenarios[id(scenario)] = scenario, sent_scenario(scenario, where=str(trial.eval.source.path))
        return self._scenarios[id(scenario)][1]

    async def _start_of(self, template: Template) -> PackedStart:
        """The starting state, packed once."""
        async with self._packing:
            if template.folder not in self._starts:
                self._starts[template.folder] = await asyncio.to_thread(pack_start, template)
        return self._starts[template.folder]


class Places:
    """Places in which attempts can run; first come, first served."""

    def __init__(self, total: int = 0) -> None:
        self.total = total
        self.taken = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    def resize(self, total: int) -> None:
        """Change the number of places; those that are taken stay so."""
        self.total = total
        self._wake()

    async def acquire(self) -> None:
        """Wait for a place."""
        if self.taken < self.total and not self._waiting:
            self.taken += 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()
            raise

    def release(self) -> None:
        """Give the place back."""
        self.taken -= 1
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self.taken < self.total:
            turn = self._waiting.popleft()
            if not turn.done():
                self.taken += 1
                turn.set_result(None)
