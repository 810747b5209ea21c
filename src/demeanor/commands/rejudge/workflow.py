"""Captures that were kept, judged by today's evals, readers and policies: no agent runs, and no model is asked."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from demeanor._version import __version__
from demeanor.commands.rejudge.report import RejudgedTrial, Rejudgement, rejudgement
from demeanor.commands.rejudge.restore import NotRestorable, Restorer
from demeanor.commands.rejudge.to_json import rejudge_json
from demeanor.commands.run.policies import decide, exit_code
from demeanor.commands.run.stored_runs import StoredRun
from demeanor.config.config import Config
from demeanor.core.errors import BadInput, DemeanorError, UsageError
from demeanor.core.eval import Eval
from demeanor.core.policy import Policy
from demeanor.core.ports import RunCommand
from demeanor.core.record import Record
from demeanor.core.redaction.values import redacted
from demeanor.core.text import count
from demeanor.core.trial import Plan, Trial, named_cell
from demeanor.core.verdict import Void
from demeanor.runner.assemble import open_sandbox, run_info
from demeanor.runner.attempt import with_agent_log
from demeanor.runner.catalog import Catalog
from demeanor.runner.judging import JudgingContext, judged
from demeanor.runner.plan import DEFAULT_TIMEOUT, choose_evals, under_faults
from demeanor.runner.sandbox import Level
from demeanor.runner.template import TemplateCache
from demeanor.sandboxes.levels.none import NoneSandbox
from demeanor.store.captures.capture_store import open_capture_store
from demeanor.store.runs.rejudged import keep_rejudged
from demeanor.store.runs.run_folder import write_whole


@dataclass(frozen=True, kw_only=True, slots=True)
class RejudgeOptions:
    """What is to be judged again, and how."""

    evals: Collection[str] = ()
    """Only evals of these names; none means all."""

    paths: Sequence[str] = ()
    """Where the evals lie; none means where the run had them."""

    sandbox: str | None = None
    """Where the commands of checks run; None means where they ran."""

    jobs: int | None = None
    """Trials that are judged at once."""

    as_it_was: bool = False
    """Whether also those trials are judged whose scenario was edited since, in the workspace that they began with."""


def judge_again(
    runs: Sequence[StoredRun], config: Config, environ: Mapping[str, str], options: RejudgeOptions
) -> tuple[RejudgedTrial, ...]:
    """The trials of some runs that count, each judged again or refused with a reason."""
    catalog = Catalog(config=config, environ=environ, replaying=True)
    found: list[RejudgedTrial] = []
    for run in runs:
        if run.info.rejudges:
            raise UsageError(f"{run.name} holds verdicts of another run, judged again\n  → judge that run again")
        trials = run.trials(options.evals)
        if run.folder is None and run.origin != "demeanor":
            refusal = f"its run was imported from {run.origin}, which keeps no captures here"
            found += [RejudgedTrial(run=run.name, before=one, after=None, refusal=refusal) for one in trials]
            continue
        evals = _evals(run, config, options)
        sandbox = _sandbox(run, trials, evals, config, options)
        found += asyncio.run(_judge_all(run, trials, evals, catalog, sandbox, options))
    return tuple(found)


def _sandbox(
    run: StoredRun, trials: Sequence[Record], evals: Mapping[str, Eval], config: Config, options: RejudgeOptions
) -> Level:
    """Where the commands of checks run; of tasks the reward was kept, so that neither it nor Harbor is needed."""
    known = [evals[one.eval] for one in trials if one.eval in evals]
    if known and all(one.task is not None for one in known):
        return NoneSandbox()
    request = replace(run.request, sandbox=options.sandbox or run.request.sandbox)
    return open_sandbox(config, request, Plan(cells=()))


def make_rejudgement(answered: Sequence[RejudgedTrial], *, kept: Sequence[Path] = ()) -> Rejudgement:
    """Everything that can be said of trials that were judged again."""
    broken = sum(isinstance(one.before.verdict, Void) and not one.before.eval_hash for one in answered if one.after)
    here = Path.cwd()
    notes = (f"{count(broken, 'trial')} broke down before there was anything to judge: still void",)
    return rejudgement(
        answered,
        demeanor=__version__,
        decide=decide,
        exit_code=exit_code,
        notes=notes if broken else (),
        kept=tuple(str(path.relative_to(here) if path.is_relative_to(here) else path) for path in kept),
    )


def keep_judgements(runs: Sequence[StoredRun], answered: Sequence[RejudgedTrial], config: Config) -> tuple[Path, ...]:
    """Write the new verdicts down inside of each run's folder, which stays as it is; where they are."""
    made = []
    for run in runs:
        own = [one for one in answered if one.run == run.name]
        records = [one.after for one in own if one.after is not None]
        if run.folder is None or not records:
            continue
        now = run_info(config, run.request)
        info = replace(
            now, arguments=run.info.arguments, seed=run.info.seed, trials=run.info.trials,
            rejudges=run.info.uid or run.info.id, kind=run.info.kind,
        )  # fmt: skip
        kept = keep_rejudged(run.folder, info, _plan(records), records, datetime.now(UTC))
        write_whole(kept.folder / "rejudge.json", rejudge_json(make_rejudgement(own)))
        made.append(kept.folder)
    return tuple(made)


def _plan(records: Sequence[Record]) -> Plan:
    """The cells that some records are of."""
    cells: dict[tuple[str, str], tuple[Policy, int]] = {}
    for record in records:
        _, known = cells.get((record.eval, record.subject), (record.policy, 0))
        cells[record.eval, record.subject] = (record.policy, known + 1)
    return Plan(
        cells=tuple(
            named_cell(name, subject, policy=policy, trials=number)
            for (name, subject), (policy, number) in cells.items()
        )
    )


async def _judge_all(
    run: StoredRun,
    trials: Sequence[Record],
    evals: Mapping[str, Eval],
    catalog: Catalog,
    sandbox: Level,
    options: RejudgeOptions,
) -> list[RejudgedTrial]:
    await sandbox.start()
    templates = TemplateCache(sandbox.folder)
    restorer = Restorer(run.folder, open_capture_store(catalog.config), templates, as_it_was=options.as_it_was)
    turns = asyncio.Semaphore(options.jobs or min(2 * (os.cpu_count() or 1), 8))

    async def one(record: Record) -> RejudgedTrial:
        async with turns:
            try:
                after = await _judge(record, evals, catalog, restorer, sandbox.command)
            except NotRestorable as refused:
                return RejudgedTrial(run=run.name, before=record, after=None, refusal=str(refused))
            return RejudgedTrial(run=run.name, before=record, after=after)

    try:
        return list(await asyncio.gather(*map(one, trials)))
    finally:
        templates.close()
        await sandbox.stop()


async def _judge(
    record: Record, evals: Mapping[str, Eval], catalog: Catalog, restorer: Restorer, command: RunCommand
) -> Record:
    """One attempt again; raises Refused."""
    one = evals.get(record.eval)
    if one is None:
        raise NotRestorable("no eval of this name is defined any more")
    try:
        subject = catalog.subject(record.subject)
        agent = catalog.of(subject)
    except DemeanorError as error:
        raise NotRestorable(f"its agent is not known here: {str(error).splitlines()[0]}") from None
    capture = await restorer.capture(record, one)
    # The first version of captures did not keep what an agent's own log is read from; of a task Harbor read it.
    if capture.scenario and one.task is None:
        capture = with_agent_log(agent, capture)
    redactor = catalog.redactor
    judging = JudgingContext(
        agent=agent, command=command, redactor=redactor, leaks_fail=catalog.config.canary == "fail"
    )
    trial = Trial(eval=one, subject=subject, number=record.number, timeout=DEFAULT_TIMEOUT)
    found, _ = await asyncio.to_thread(partial(judged, trial, record.attempt, capture, judging))
    told = redacted(found, redactor)
    return replace(
        record,
        verdict=told.verdict,
        spent=told.spent,
        chain=told.chain,
        stdout=told.stdout,
        stderr=told.stderr,
        notes=told.notes,
        policy=told.policy,
        eval_hash=told.eval_hash,
        prompt_hash=told.prompt_hash,
    )


def _evals(run: StoredRun, config: Config, options: RejudgeOptions) -> dict[str, Eval]:
    """The evals as they are now, under the faults that the run was asked for."""
    paths = options.paths or list(dict.fromkeys(path.partition("::")[0] for path in run.request.paths))
    for path in () if options.paths else paths:
        if not Path(path).exists():
            raise BadInput("the run had its evals here", where=path, remedy="say where they are now: --evals PATH")
    faults = run.request.faults or config.faults
    return {one.name: under_faults(one, faults) for one in choose_evals(config, paths=paths)}
