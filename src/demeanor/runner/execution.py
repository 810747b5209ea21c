"""Executes a run: the only module that knows the order of its steps.

`prepare` opens the sandbox, builds the project, creates the run folder and assembles the run's context. The sandbox and
the build come first, so that if one of them does not work, no empty run folder is left. `execute` then runs every trial
of the plan that has no verdict yet, and returns a `RunResult`. `execute_together` does so for several runs at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from demeanor.core.redaction.values import redacted
from demeanor.core.started import mark_started
from demeanor.core.text.wording import redact_before_shortening
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import StoreError
from demeanor.core.values.policy import Policy
from demeanor.core.values.progress import AttemptJudged, AttemptStarted, Progress
from demeanor.core.values.record import Record, RunInfo
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.trial import Plan, Trial
from demeanor.core.values.usage import price_notes
from demeanor.core.values.verdict import Fail, Verdict, Void
from demeanor.runner.assemble import RunContext, assemble, new_run_folder, open_sandbox, run_info
from demeanor.runner.budget import Spending, StopConditions, stop_conditions
from demeanor.runner.build import build_project, write_build_log
from demeanor.runner.cassettes import cassette_notes
from demeanor.runner.catalog import Catalog
from demeanor.runner.checks import open_checks
from demeanor.runner.executors import SharedExecutor
from demeanor.runner.hooks import Hooks, load_hooks
from demeanor.runner.joint_display import joint_plan, with_label
from demeanor.runner.judging import judge_and_store
from demeanor.runner.memory import frequent_collections, return_freed_memory
from demeanor.runner.sandbox import Level
from demeanor.runner.schedule import Stop, run_trials
from demeanor.runner.ui import UI
from demeanor.store.runs import RunFolder, RunningTrial, discard_empty, point_latest, write_running

_MOST_RUNNING = 100
"""Trials in progress that are written for pages about the run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedRun:
    """A run that is ready to be executed."""

    plan: Plan
    """The trials to run."""

    request: RunRequest
    """What was asked for."""

    info: RunInfo
    """The run's name, time, commit, seed and arguments."""

    folder: RunFolder
    """Where it is stored."""

    context: RunContext
    """What it is executed with."""

    limits: StopConditions
    """When it ends early."""

    in_history: bool = True
    """Whether it is written to the project's history and becomes the `latest` run when it starts."""

    stale: Mapping[str, int] = field(default_factory=dict)
    """Of a resumed run: trial → its last stored attempt that does not count, because what it tested has changed."""

    hooks: Hooks = field(default_factory=Hooks)
    """The hooks that are told about it."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about the run; complete once it has ended."""
        return (
            *self.hooks.notes,
            *cassette_notes(self.request, self.context.record),
            *self.context.notes,
            *self.context.executor.notes,
            *self.context.store.notes,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class RunResult:
    """A run that has ended, or as much of it as is done."""

    plan: Plan
    """The trials it was to run."""

    info: RunInfo
    """The run's name, time, commit, seed and arguments."""

    folder: Path
    """Where it is stored."""

    records: tuple[Record, ...]
    """Every attempt, in the order in which they ended."""

    seconds: float | None = None
    """Wall time; None if unknown."""

    stopped: str | None = None
    """Why it ended early; None if it did not."""

    interrupted: bool = False
    """Whether the user interrupted it."""

    notes: tuple[str, ...] = ()
    """What the user should know about the run."""


def prepare(
    catalog: Catalog,
    plan: Plan,
    request: RunRequest,
    into: Path | RunFolder,
    *,
    info: RunInfo | None = None,
    commit: str | None = None,
    in_history: bool = True,
    stale: Mapping[str, int] | None = None,
    log: Callable[[str], None] = lambda line: None,
    checks_here: bool = False,
) -> PreparedRun:
    """Open the sandbox, build the project if requested, create the run folder and assemble the rest.

    `into` is the results folder in which a run folder is created, or a run folder to use. `info` continues an earlier
    run; its attempts in `stale` do not count, and their trials run again. `commit` says that exactly this commit is
    under test: files that its build changed do not make it dirty. `log` gets a message before the build. With
    `checks_here`, checks run in this process, for a debugger.
    """
    return_freed_memory()
    redact_before_shortening(catalog.redactor.text)  # before processes for checks are forked
    checks = open_checks((cell.eval for cell in plan.cells), catalog.config, here=checks_here)
    folder: RunFolder | None = None
    sandbox: Level | None = None
    try:
        sandbox = open_sandbox(catalog.config, request, plan)
        sandbox.start_early()
        results = into.folder.parent if isinstance(into, RunFolder) else into
        now = run_info(catalog.config, request, catalog.environ, results)  # before the build, which may change files
        built = build_project(catalog, results, log) if request.build and any(plan.trials()) else None
        catalog.use_built_files(cell.subject for cell in plan.cells)
        if (in_history or request.shard is not None) and commit is None:
            catalog.refuse_missing_programs(plan)
        folder = into if isinstance(into, RunFolder) else new_run_folder(into)
        if built is not None:
            write_build_log(folder, built)
        if info is None:
            info = replace(now, id=folder.folder.name)
            info = replace(info, commit=commit, dirty=False) if commit is not None else info
        info = replace(info, prices=catalog.price_list)
        seed = info.seed
        context = assemble(catalog, plan, request, folder, sandbox, seed=seed, checks=checks, in_history=in_history)
    except BaseException:
        checks.close()
        if sandbox is not None:
            asyncio.run(sandbox.stop())
        if folder is not None:
            discard_empty(folder.folder)
        raise
    limits = stop_conditions(catalog.config, request)
    return PreparedRun(
        plan=plan,
        request=request,
        info=info,
        folder=folder,
        context=context,
        limits=limits,
        in_history=in_history,
        stale=stale or {},
        hooks=load_hooks() if in_history else Hooks(),
    )


def execute(
    run: PreparedRun,
    *,
    ui: UI,
    watch: Callable[[Progress], None] = lambda news: None,
    more: Callable[[], Sequence[Trial]] = tuple,
) -> RunResult:
    """Run the missing trials of the plan, with progress and Ctrl-C as `ui` handles them.

    `watch` also gets every progress event, before the user sees it. `more` is called when all trials are done; if it
    returns further trials, they run in another round.
    """
    stop, started = Stop(), time.monotonic()
    with ui.progress(run.plan, _counting(run, run.folder.records())) as show:

        def watch_and_show(news: Progress) -> None:
            watch(news)
            show(news)

        interrupted = ui.run(execute_async(run, watch=watch_and_show, stop=stop, more=more))
    return _result(run, stop, started, interrupted=interrupted)


def execute_together(
    runs: Mapping[str, PreparedRun], *, ui: UI, spending: Spending | None = None
) -> dict[str, RunResult]:
    """Execute several runs at the same time, by label. They share their slots, their trials interleave, and the first
    budget that their spending reaches stops all of them. `spending` is what earlier runs of the same budget spent."""
    slots = asyncio.Semaphore(max(run.context.executor.slots for run in runs.values()))
    stop, spending, started = Stop(), spending or Spending(), time.monotonic()
    with ui.progress(joint_plan(runs), ()) as show:

        def labelled(label: str, news: Progress) -> None:
            show(with_label(news, label))

        async def all_runs() -> None:
            async with asyncio.TaskGroup() as group:
                for label, run in runs.items():
                    shared = replace(run.context, executor=SharedExecutor(run.context.executor, slots))
                    told, shared_run = partial(labelled, label), replace(run, context=shared)
                    group.create_task(execute_async(shared_run, watch=told, stop=stop, spending=spending))

        interrupted = ui.run(all_runs())
    return {label: _result(run, stop, started, interrupted=interrupted) for label, run in runs.items()}


async def execute_async(
    run: PreparedRun,
    *,
    watch: Callable[[Progress], None],
    stop: Stop,
    more: Callable[[], Sequence[Trial]] = tuple,
    spending: Spending | None = None,
) -> None:
    """Run the missing trials of the plan. Every record goes to the store and, as an event, to `watch`.

    For callers with an event loop of their own; others use `execute`.
    """
    context, begun = run.context, False
    try:
        async with AsyncExitStack() as stack:
            stack.enter_context(frequent_collections())
            stack.callback(context.checks.close)
            for service in context.services:
                await service.start()
                stack.push_async_callback(service.stop)
            await context.executor.start(stop.set, watch)
            stack.push_async_callback(context.executor.stop)
            context.store.begin(redacted(run.info, context.cleaner.redactor), run.plan)
            begun = True
            mark_started()
            _mark_latest(run)
            run.hooks.run_began(run.info, run.folder.folder, context.cleaner.redactor)
            running = _RunningTrials(run)
            stack.push_async_callback(running.stop)
            running.start()

            def watch_both(news: Progress) -> None:
                running.update(news)
                watch(news)

            await _run_missing(run, watch_both, stop, more, spending or Spending())
    finally:
        if begun:
            context.store.close()
            ended = _counting(run, run.folder.records())
            run.hooks.run_ended(run.plan, ended, stop.reason)
            await asyncio.to_thread(run.hooks.close)
        else:
            discard_empty(run.folder.folder)


class _RunningTrials:
    """Writes the attempts in progress to the run's folder once a second, for pages about the run."""

    def __init__(self, run: PreparedRun) -> None:
        self._folder = run.folder.folder
        self._context = run.context
        self._trials: dict[str, RunningTrial] = {}
        self._written: tuple[RunningTrial, ...] = ()
        self._task: asyncio.Task[None] | None = None

    def update(self, news: Progress) -> None:
        """Note that an attempt has started or ended."""
        if isinstance(news, AttemptStarted):
            began = datetime.now(UTC).isoformat(timespec="seconds")
            self._trials[f"{news.cell}/{news.number}"] = RunningTrial(
                eval=news.eval, subject=news.subject, number=news.number, attempt=news.attempt, began=began
            )
        elif isinstance(news, AttemptJudged):
            self._trials.pop(news.record.trial, None)

    def start(self) -> None:
        """Begin to write."""
        self._task = asyncio.create_task(self._write())

    async def stop(self) -> None:
        """Write no more, and remove the file."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        with suppress(OSError):
            write_running(self._folder, ())

    async def _write(self) -> None:
        while True:
            await asyncio.sleep(1)
            steps = self._context.gateway.last_steps()
            trials = tuple(replace(trial, step=steps.get(name, "")) for name, trial in self._trials.items())
            if trials != self._written:
                self._written = trials
                with suppress(OSError):  # a full disk ends the run where it matters: at the ledger
                    write_running(self._folder, redacted(trials[:_MOST_RUNNING], self._context.cleaner.redactor))


def _may_run_again(verdict: Verdict) -> bool:
    return isinstance(verdict, Void) and not verdict.refuted


async def _run_missing(
    run: PreparedRun,
    watch: Callable[[Progress], None],
    stop: Stop,
    more: Callable[[], Sequence[Trial]],
    spending: Spending,
) -> None:
    """Run the trials that have no verdict yet, then those that `more` adds."""
    context = run.context
    stored = context.store.records()
    for record in stored:
        spending.add(record.spent)
    context.executor.continue_from(stored, usd=run.limits.budget_usd, tokens=run.limits.budget_tokens)
    counting = _counting(run, stored)
    judged = {record.trial for record in counting if record.final and not _may_run_again(record.verdict)}
    missing = [trial for trial in run.plan.trials() if trial.id not in judged]
    tried: dict[str, int] = {}
    for record in stored:
        tried[record.trial] = max(tried.get(record.trial, 0), record.attempt)
    del stored
    if tried and missing and (spent := spending.reached(run.limits)):  # by an earlier part of this run
        stop.set(f"stopped: {spent}")

    async def conclude(trial: Trial, attempt: int, capture: Capture, last: bool) -> Record:
        record = await judge_and_store(trial, attempt, capture, context, last=last)
        spending.add(record.spent)
        context.executor.settle(record)
        watch(AttemptJudged(record=record))
        run.hooks.attempt_ended(record)
        _stop_if_due(run.limits, record, trial, spending, stop)
        return record

    def started(trial: Trial, attempt: int) -> None:
        subject = str(trial.subject)
        watch(AttemptStarted(eval=trial.eval.name, subject=subject, number=trial.number, attempt=attempt))

    while stop.reason is None and (missing := missing or list(more())):
        await run_trials(
            missing,
            context.executor,
            conclude,
            retries=context.retries,
            stop=stop,
            started=started,
            tried=tried,
        )
        missing = []


def _stop_if_due(limits: StopConditions, record: Record, trial: Trial, spending: Spending, stop: Stop) -> None:
    failed = isinstance(record.verdict, Fail) and trial.eval.policy is not Policy.USUALLY_FAILS
    if limits.fail_fast and failed:
        stop.set(f"stopped at the first failure: {record.trial}")
    if spent := spending.reached(limits):
        stop.set(f"stopped: {spent}")


def _mark_latest(run: PreparedRun) -> None:
    """Let `latest` point to a run that starts, so that it can be resumed if Demeanor is killed; not if the run is kept
    out of the project's history."""
    if not run.in_history:
        return
    try:
        point_latest(run.folder.folder)
    except OSError as error:
        raise StoreError(f"{run.folder.folder}: `latest` can't be updated: {error.strerror}") from error


def _counting(run: PreparedRun, records: Iterable[Record]) -> tuple[Record, ...]:
    """The attempts without the stale ones of a resumed run."""
    return tuple(record for record in records if record.attempt > run.stale.get(record.trial, 0))


def _result(run: PreparedRun, stop: Stop, started: float, *, interrupted: bool) -> RunResult:
    records = _counting(run, run.folder.records())
    return RunResult(
        plan=run.plan,
        info=run.info,
        folder=run.folder.folder,
        records=records,
        seconds=time.monotonic() - started,
        stopped=stop.reason,
        interrupted=interrupted,
        notes=(*run.notes, *price_notes(note for record in records for note in record.notes)),
    )
