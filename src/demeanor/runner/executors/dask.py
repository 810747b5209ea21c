"""Runs attempts on the workers of a Dask cluster.

This process plans, judges and stores; workers only make captures. Each attempt is sent to one worker, and to no other:
if that worker dies, does not answer or sends something invalid, the attempt is void(worker), which is stored like any
other attempt and retried by our own policy. A result that arrives after its attempt was given up is discarded.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from demeanor.config.tables import Limit
from demeanor.core.capture import Capture
from demeanor.core.errors import StoreError, WorldError
from demeanor.core.fingerprints import scenario_hashes
from demeanor.core.ports import Template
from demeanor.core.progress import Progress, WorkersChanged
from demeanor.core.record import Record
from demeanor.core.scenario import Scenario
from demeanor.core.starting_state import start_hash
from demeanor.core.tree import Tree
from demeanor.core.trial import Trial
from demeanor.core.verdict import VoidCause
from demeanor.runner.attempt import capture_errors
from demeanor.runner.executors.archive import Archive, pack
from demeanor.runner.executors.budget_ledger import BudgetLedger
from demeanor.runner.executors.cluster_run import ClusterRun
from demeanor.runner.executors.cluster_session import ClusterSession
from demeanor.runner.executors.messages import (
    SMALL,
    AttemptReply,
    AttemptRequest,
    BadMessage,
    pack_message,
    unpack_message,
)
from demeanor.runner.executors.places import Places
from demeanor.runner.executors.run_setup import sent_scenario
from demeanor.runner.executors.worker import cancel_attempts, seconds_of_attempt
from demeanor.runner.executors.worker_link import UnknownRun, WorkerLink, WorkerLost
from demeanor.runner.executors.worker_pool import WorkerPool
from demeanor.store.captures.capture_json import read_capture_json

Cassettes: TypeAlias = Callable[[Trial], tuple[bytes | None, str]]
"""The text of a trial's cassette, or the reason why there is none."""

_GRACE = 60.0
"""Seconds that an attempt may take longer than its time limit: to set up and tear down its sandbox."""

_UNKNOWN_SLOTS = 1000
"""Of a cluster that is not connected yet."""


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
        self._starts: dict[Path, tuple[Archive, str]] = {}
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
        template = await self._template(trial.eval.scenario)
        start, hashed = await self._start_of(template)
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
            start=start.sha256,
            cassette=text,
            cassette_problem=problem,
            eval_budget=eval_left,
            run_budget=run_left,
        )
        assert self._pool is not None  # noqa: S101 - it was started
        async with self._pool.worker() as link:
            try:
                reply, body = await self._ask(link, trial, request, start)
                if len(body) <= SMALL and not reply.spooled:
                    capture = self._capture(trial, template.tree, hashed, reply, body)
                else:
                    capture = await asyncio.to_thread(self._capture, trial, template.tree, hashed, reply, body)
            except (WorkerLost, BadMessage, StoreError) as error:
                how = "was lost: it" if isinstance(error, WorkerLost) else "sent an invalid result:"
                self._pool.count(link, str(error))
                raise WorldError(VoidCause.WORKER, f"the worker {link} {how} {error}") from None
            broken = capture.breakdown
            self._pool.count(link, broken.detail if broken and broken.cause is VoidCause.SANDBOX else "")
            return capture

    async def _ask(
        self, link: WorkerLink, trial: Trial, request: AttemptRequest, start: Archive
    ) -> tuple[AttemptReply, bytes]:
        """The worker's reply; it is sent first what it lacks."""
        assert self._pool is not None  # noqa: S101 - it was started
        await link.send_start(self._run.id, start)
        status = ""
        for _ in range(3):
            try:
                packed = await self._result(link, trial, request)
            except UnknownRun:
                status = "unknown run"
                await self._pool.reopen(link)
                await link.send_start(self._run.id, start, again=True)
                continue
            if isinstance(packed, bytes) and len(packed) <= SMALL:
                reply, body = unpack_message(AttemptReply, packed)
            else:
                reply, body = await asyncio.to_thread(unpack_message, AttemptReply, packed)
            if (reply.nonce, reply.trial, reply.attempt) != (request.nonce, trial.id, request.attempt):
                raise BadMessage(f"it belongs to {reply.trial!r}, attempt {reply.attempt}, or to another request")
            if reply.status == "done":
                return reply, body
            if reply.status == "failed":
                raise BadMessage(f"it failed: {reply.problem}")
            status = reply.status
            await link.send_start(self._run.id, start, again=True)
        raise BadMessage(f"it still says {status!r}")

    async def _result(self, link: WorkerLink, trial: Trial, request: AttemptRequest) -> object:
        """The worker's reply; raises WorkerLost if the attempt is given up."""
        silence = self._run.silence
        result = asyncio.ensure_future(link.attempt(request.run, request.nonce, pack_message(request), seconds=silence))
        lost = asyncio.ensure_future(link.lost.wait())
        limit = trial.timeout + _GRACE
        try:
            while not result.done():
                await asyncio.wait({result, lost}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
                if not result.done():
                    await self._require_progress(link, trial, request)
                limit = _GRACE
            return result.result()
        except WorkerLost as error:
            link.give_up(request.nonce, f"{trial.id}, attempt {request.attempt}, from {link}")
            if result.done() and self._pool is not None and not link.lost.is_set():
                self._pool.lose(link, str(error))
            raise
        finally:
            result.cancel()
            lost.cancel()

    async def _require_progress(self, link: WorkerLink, trial: Trial, request: AttemptRequest) -> None:
        """Raise WorkerLost if the worker was given up, or if the attempt has been running for too long; end it then."""
        if link.lost.is_set():
            raise WorkerLost(link.why_lost)
        run, nonce = request.run, request.nonce
        seconds = await link.call(seconds_of_attempt, run, nonce, seconds=self._run.silence)
        if isinstance(seconds, float) and seconds > trial.timeout + _GRACE:
            await link.call(cancel_attempts, run, (nonce,), seconds=self._run.silence)
            raise WorkerLost(f"did not end the attempt within {seconds:.0f} seconds")

    def _sent(self, trial: Trial) -> Scenario:
        """The scenario as it is sent, made once for all trials of an eval."""
        scenario = trial.eval.scenario
        if id(scenario) not in self._scenarios:
            self._scenarios[id(scenario)] = scenario, sent_scenario(scenario, where=str(trial.eval.source.path))
        return self._scenarios[id(scenario)][1]

    async def _start_of(self, template: Template) -> tuple[Archive, str]:
        """The starting state, packed once, and the hash of its files."""
        async with self._packing:
            if template.folder not in self._starts:
                packed = await asyncio.to_thread(pack, template.folder)
                self._starts[template.folder] = packed, start_hash(template.tree)
        return self._starts[template.folder]

    def _capture(self, trial: Trial, before: Tree, hashed: str, reply: AttemptReply, body: bytes) -> Capture:
        """The capture in a reply, checked; raises BadMessage or StoreError."""
        capture = read_capture_json(body, before, where="the capture")
        if (capture.trial, capture.attempt) != (trial.id, reply.attempt):
            raise BadMessage(f"its capture is of {capture.trial!r}, attempt {capture.attempt}")
        if not capture.breakdown and reply.start_hash != hashed:
            raise BadMessage("the attempt began with other files than those that were sent")
        for path, entry in capture.after.entries.items():
            content = entry.content if entry.kind == "file" and path not in reply.spooled else None
            if isinstance(content, bytes) and hashlib.sha256(content).hexdigest() != entry.sha256:
                raise BadMessage(f"the content of {path!r} does not have its hash")
        after = _with_spooled(capture.after, reply, self._folder / reply.nonce)
        if capture.breakdown:
            return replace(capture, before=Tree(), after=Tree())
        return replace(capture, scenario=scenario_hashes(trial.eval.scenario), before=before, after=after)


def _with_spooled(after: Tree, reply: AttemptReply, folder: Path) -> Tree:
    """The tree with copies of the files that are too large to keep, for the commands of checks."""
    entries = dict(after.entries)
    for index, (path, content) in enumerate(reply.spooled.items()):
        if path not in entries:
            raise BadMessage(f"there is no file {path!r}")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / str(index)).write_bytes(content)
        entries[path] = replace(entries[path], spooled=folder / str(index))
    return replace(after, entries=entries) if reply.spooled else after
