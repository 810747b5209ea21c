"""Judge stored captures with the current evals, readers and policies, without running an agent or a model."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from demeanor.commands.rejudge.report import REJUDGE_DOCUMENT, RejudgedTrial, Rejudgement, rejudgement
from demeanor.commands.rejudge.restore import NotRestorable, Restorer
from demeanor.config import Config, Limit
from demeanor.core.redaction.values import redacted
from demeanor.core.text.wording import count
from demeanor.core.trees.atomic_file import write_atomically
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import BadInput, DemeanorError, UsageError
from demeanor.core.values.eval import Eval
from demeanor.core.values.judge_question import JudgeAnswer
from demeanor.core.values.policy import Policy
from demeanor.core.values.ports import RunCommand
from demeanor.core.values.record import Record
from demeanor.core.values.trial import Plan, Trial, named_cell
from demeanor.core.values.verdict import Void
from demeanor.results import StoredRun
from demeanor.runner import (
    DEFAULT_TIMEOUT,
    Asking,
    Catalog,
    Checks,
    Judges,
    JudgingContext,
    Level,
    TemplateCache,
    TrialJudge,
    choose_evals,
    judge_spent,
    judged,
    no_isolation,
    open_checks,
    open_sandbox,
    run_info,
    with_agent_log,
    with_faults,
)
from demeanor.store.captures import open_capture_store
from demeanor.store.runs import RunFolder, add_judge_answers, planned_cells_of, read_judge_answers, store_rejudged


@dataclass(frozen=True, kw_only=True, slots=True)
class RejudgeOptions:
    """What to judge again, and how."""

    evals: Collection[str] = ()
    """Names of evals; empty means all."""

    paths: Sequence[str] = ()
    """Paths of the evals; empty means those of the run."""

    sandbox: str | None = None
    """The sandbox for the commands of checks; None means that of the run."""

    as_it_was: bool = False
    """Whether to judge trials whose scenario was edited since, with the starting files of that time."""

    ask_judge: Asking = "never"
    """Whether judges are asked, which costs money; otherwise their recorded answers are used."""

    budget: Limit = field(default_factory=Limit)
    """The most that judges may spend."""


def judge_again(
    runs: Sequence[StoredRun], config: Config, environ: Mapping[str, str], options: RejudgeOptions
) -> tuple[RejudgedTrial, ...]:
    """Judge the counting trials of some runs again; a trial that can't be judged again gets a reason."""
    catalog = Catalog(config=config, environ=environ, replaying=True)
    rejudged: list[RejudgedTrial] = []
    for run in runs:
        if run.info.rejudges:
            raise UsageError(
                f"{run.name} contains verdicts from an earlier `rejudge`\n  → judge the original run again"
            )
        trials = run.trials(options.evals)
        if run.place.origin != "demeanor":
            refusal = f"its run was imported from {run.place.origin}, and imported runs have no captures"
            rejudged += [RejudgedTrial(run=run.name, before=record, after=None, refusal=refusal) for record in trials]
            continue
        evals = _evals(run, config, options)
        checks = open_checks(evals.values(), config)
        try:
            sandbox = _sandbox(run, trials, evals, config, options)
            rejudged += asyncio.run(_judge_all(run, trials, evals, catalog, sandbox, checks, options))
        finally:
            checks.close()
    return tuple(rejudged)


def _sandbox(
    run: StoredRun, trials: Sequence[Record], evals: Mapping[str, Eval], config: Config, options: RejudgeOptions
) -> Level:
    """Open the sandbox for the commands of checks. Tasks need none: their reward is stored."""
    own = [evals[record.eval] for record in trials if record.eval in evals]
    if own and all(eval_.task is not None for eval_ in own):
        return no_isolation()
    request = replace(run.request, sandbox=options.sandbox or run.request.sandbox)
    return open_sandbox(config, request, Plan(cells=()))


def make_report(
    trials: Sequence[RejudgedTrial], *, kept: Sequence[Path] = (), unkept: Sequence[str] = ()
) -> Rejudgement:
    """Make the report of trials that were judged again; `unkept` are notes about verdicts that are not stored."""
    broken = sum(
        isinstance(trial.before.verdict, Void) and not trial.before.eval_hash for trial in trials if trial.after
    )
    here = Path.cwd()
    notes = (f"{count(broken, 'trial')} failed before there was anything to judge: still void",)
    asked = [answer for trial in trials for answer in trial.asked]
    return rejudgement(
        trials,
        notes=(*(notes if broken else ()), *((_price(asked),) if asked else ()), *unkept),
        kept=tuple(str(path.relative_to(here) if path.is_relative_to(here) else path) for path in kept),
    )


def _price(asked: Sequence[JudgeAnswer]) -> str:
    """What asking the judges cost."""
    spent = judge_spent(asked)
    price = "at unknown cost" if spent.cost_usd is None else f"${spent.cost_usd:.4f}"
    return f"judges were asked {count(len(asked), 'question')}: {spent.tokens or 0} tokens, {price}"


def store_verdicts(
    runs: Sequence[StoredRun], trials: Sequence[RejudgedTrial], config: Config
) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Store the new verdicts in a new folder inside each run's folder; return these folders, and notes about runs
    whose folder is not on this machine."""
    made, notes = [], []
    for run in runs:
        own = [trial for trial in trials if trial.run == run.name]
        records = [trial.after for trial in own if trial.after is not None]
        if not records:
            continue
        if run.folder is None:
            notes.append(f"the new verdicts of {run.name} are not stored: its folder is {run.place.source}")
            continue
        now = run_info(config, run.request, os.environ, run.folder.folder.parent)
        info = replace(
            now, arguments=run.info.arguments, seed=run.info.seed, trials=run.info.trials,
            rejudges=run.info.uid or run.info.id, kind=run.info.kind,
        )  # fmt: skip
        kept = store_rejudged(run.folder, info, _plan(run.folder, records), records, datetime.now(UTC))
        write_atomically(kept.folder / "rejudge.json", REJUDGE_DOCUMENT.write(make_report(own)))
        made.append(kept.folder)
    return tuple(made), tuple(notes)


def _plan(run: RunFolder, records: Sequence[Record]) -> Plan:
    """Return a plan with the cells of some records, in the layers of the original run."""
    layers = {(cell.eval, cell.subject): cell.layer for cell in planned_cells_of(run)}
    cells: dict[tuple[str, str], tuple[Policy, int]] = {}
    for record in records:
        _, number = cells.get((record.eval, record.subject), (record.policy, 0))
        cells[record.eval, record.subject] = (record.policy, number + 1)
    return Plan(
        cells=tuple(
            named_cell(name, subject, policy=policy, trials=number, layer=layers.get((name, subject), 2))
            for (name, subject), (policy, number) in cells.items()
        )
    )


async def _judge_all(
    run: StoredRun,
    trials: Sequence[Record],
    evals: Mapping[str, Eval],
    catalog: Catalog,
    sandbox: Level,
    checks: Checks,
    options: RejudgeOptions,
) -> list[RejudgedTrial]:
    await sandbox.start()
    judges = Judges(catalog, {"run": options.budget})
    await judges.start()
    later = read_judge_answers(run.folder.folder if run.folder else None)
    templates = TemplateCache(sandbox.folder, checks.run_setup)
    restorer = Restorer(run.place, open_capture_store(catalog.config), templates, as_it_was=options.as_it_was)
    slots = asyncio.Semaphore(min(2 * (os.cpu_count() or 1), 8))

    def judge_of(trial: Trial, capture: Capture, record: Record) -> TrialJudge:
        more = later.get((record.trial, record.attempt), ())
        return judges.of_trial(trial, capture, asking=options.ask_judge, more=more)

    async def one(record: Record) -> RejudgedTrial:
        async with slots:
            try:
                after, asked = await _judge(record, evals, catalog, restorer, sandbox.command, checks, judge_of)
            except NotRestorable as refused:
                return RejudgedTrial(run=run.name, before=record, after=None, refusal=str(refused))
            if run.folder is not None:
                add_judge_answers(run.folder.folder, record, asked)
            return RejudgedTrial(run=run.name, before=record, after=after, asked=asked)

    try:
        return list(await asyncio.gather(*map(one, trials)))
    finally:
        templates.close()
        await judges.stop()
        await sandbox.stop()


async def _judge(
    record: Record,
    evals: Mapping[str, Eval],
    catalog: Catalog,
    restorer: Restorer,
    command: RunCommand,
    checks: Checks,
    judge_of: Callable[[Trial, Capture, Record], TrialJudge],
) -> tuple[Record, tuple[JudgeAnswer, ...]]:
    """Judge one attempt again; raise NotRestorable if that is not possible. Also returns what judges were asked."""
    eval_ = evals.get(record.eval)
    if eval_ is None:
        raise NotRestorable("no eval with this name is defined any more")
    try:
        subject = catalog.subject(record.subject)
        agent = catalog.of(subject)
    except DemeanorError as error:
        raise NotRestorable(f"its agent is not configured: {str(error).splitlines()[0]}") from None
    capture = await restorer.capture(record, eval_)
    if capture.breakdown is None and eval_.task is None:  # for a task, Harbor has read the log already
        capture = with_agent_log(agent, capture)
    redactor = catalog.redactor
    trial = Trial(eval=eval_, subject=subject, number=record.number, timeout=DEFAULT_TIMEOUT)
    judge = judge_of(trial, capture, record)
    judging = JudgingContext(
        agent=agent,
        command=command,
        redactor=redactor,
        ask=checks.ask,
        find_blame=checks.find_blame,
        leaks_fail=catalog.config.canary == "fail",
        judge=judge,
    )
    judged_record, _ = await asyncio.to_thread(partial(judged, trial, record.attempt, capture, judging))
    clean = redacted(judged_record, redactor)
    after = replace(
        record,
        verdict=clean.verdict,
        spent=clean.spent,
        chain=clean.chain,
        stdout=clean.stdout,
        stderr=clean.stderr,
        notes=clean.notes,
        policy=clean.policy,
        eval_hash=clean.eval_hash,
        prompt_hash=clean.prompt_hash,
    )
    return after, tuple(judge.fresh)


def _evals(run: StoredRun, config: Config, options: RejudgeOptions) -> dict[str, Eval]:
    """Load the current evals, with the faults of the run."""
    paths = options.paths or list(dict.fromkeys(path.partition("::")[0] for path in run.request.paths))
    for path in () if options.paths else paths:
        if not Path(path).exists():
            raise BadInput(
                "the evals of the run were here", where=path, remedy="say where they are now with --evals PATH"
            )
    faults = run.request.faults or config.faults
    return {eval_.name: with_faults(eval_, faults) for eval_ in choose_evals(config, paths=paths)}
