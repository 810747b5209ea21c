"""Conducts one run from its plan to its verdicts; the only module that knows the order of the rooms."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from demeanor.core.agent import Agent
from demeanor.core.capture import Capture
from demeanor.core.errors import StoreError
from demeanor.core.evidence import Evidence
from demeanor.core.fingerprints import eval_hash, short_hash, subject_hash
from demeanor.core.policy import Policy
from demeanor.core.ports import Executor, Gateway, RunCommand, Sandbox, Store
from demeanor.core.progress import AttemptJudged, AttemptStarted, Progress
from demeanor.core.record import Record, RunInfo
from demeanor.core.redaction.redactor import Redactor, without_digits
from demeanor.core.redaction.values import Cleaner, redacted
from demeanor.core.starting_state import SECRETS, fit_to_keep
from demeanor.core.subject import Subject
from demeanor.core.text import excerpt
from demeanor.core.tree import Tree
from demeanor.core.trial import Plan, Trial
from demeanor.core.verdict import Fail, Void
from demeanor.judge.call_chain import call_chain
from demeanor.judge.judge import judge
from demeanor.judge.snapshot import write_snapshots
from demeanor.observe import observe
from demeanor.runner.schedule import Retries, Stop, is_final, run_trials
from demeanor.store.runs.call_log import leave_log


@dataclass(frozen=True, kw_only=True, slots=True)
class RunContext:
    """What a run is conducted with; wiring.py puts it together."""

    agent: Callable[[Subject], Agent]
    """The agent of a subject."""

    executor: Executor
    """Where attempts run."""

    sandbox: Sandbox
    """Where agents, and the commands of checks, are kept in."""

    gateway: Gateway
    """What stands between agents and models."""

    store: Store
    """Where everything is kept."""

    retries: Retries
    """How voids are tried again."""

    benches: tuple[Sandbox, ...] = ()
    """What else must be up meanwhile, for attempts that run elsewhere than in the sandbox."""

    notes: tuple[str, ...] = ()
    """What a person should know of all this."""

    update_snapshots: bool = False
    """Whether prompt snapshots are written instead of compared."""

    record: Callable[[Trial, Capture], None] | None = None
    """Makes a cassette of a trial that was judged; None where nothing is recorded."""

    cleaner: Cleaner = field(default_factory=lambda: Cleaner(Redactor()))
    """Takes secrets out of whatever is kept."""

    leaks_fail: bool = True
    """Whether a trial whose canary was leaked fails; otherwise it is only noted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StopConditions:
    """When a run ends before all of its trials are done."""

    fail_fast: bool = False
    """At the first trial that failed."""

    budget_usd: float | None = None
    """When this much money is spent."""


async def execute(
    plan: Plan,
    run: RunInfo,
    context: RunContext,
    *,
    terms: StopConditions,
    watch: Callable[[Progress], None],
    stop: Stop,
    more: Callable[[], Sequence[Trial]] = tuple,
) -> None:
    """Run what is missing of the plan. Records go to the store and to who watches; none is held here.

    `more` is asked when all trials are done: whoever wants further ones to be sure gets them in another round.
    """
    context.store.begin(redacted(run, context.cleaner.redactor), plan)
    kept = context.store.records()
    spent = sum(record.spent.cost_usd or 0.0 for record in kept)
    judged = {record.trial for record in kept if record.final and not isinstance(record.verdict, Void)}

    async def conclude(trial: Trial, attempt: int, capture: Capture, last: bool) -> Record:
        record = await asyncio.to_thread(judge_and_store, trial, attempt, capture, context, last=last)
        nonlocal spent
        spent += record.spent.cost_usd or 0.0
        watch(AttemptJudged(record=record))
        _mind(terms, record, trial, spent, stop)
        return record

    def started(trial: Trial, attempt: int) -> None:
        watch(AttemptStarted(eval=trial.eval.name, subject=str(trial.subject), number=trial.number, attempt=attempt))

    missing = [trial for trial in plan.trials() if trial.id not in judged]
    tried: dict[str, int] = {}
    for record in kept:
        tried[record.trial] = max(tried.get(record.trial, 0), record.attempt)
    del kept
    try:
        async with _open(context):
            while missing := missing or list(more()):
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
                if stop.reason is not None:
                    break
    finally:
        context.store.close()


def judge_and_store(trial: Trial, attempt: int, capture: Capture, context: RunContext, *, last: bool) -> Record:
    """Capture → evidence → verdict → kept record, for one attempt."""
    agent = context.agent(trial.subject)
    judging = JudgingContext(
        agent=agent,
        command=context.sandbox.command,
        redactor=context.cleaner.redactor,
        leaks_fail=context.leaks_fail,
        update_snapshots=context.update_snapshots,
    )
    record, evidence = judged(trial, attempt, capture, judging)
    verdict = record.verdict
    prompt, facts = record.prompt_hash, capture.facts
    version = facts.get("agent_version") or (agent.version() if capture.ends else None)
    record = replace(
        record,
        ended=datetime.now(UTC).isoformat(timespec="milliseconds"),
        final=is_final(record, last=last or evidence.injected),
        agent_version=version,
        fingerprint=subject_hash(trial.subject, version=version, prompt=prompt, facts=facts) if capture.ends else "",
    )
    record, kept, evidence = _cleaned(record, capture, evidence, context.cleaner)
    try:
        record = context.store.append(record, kept, evidence)
        if context.record and not isinstance(verdict, Void):
            context.record(trial, capture)
        if trial.eval.log:
            leave_log(trial.eval.source.path, record)
    except OSError as error:
        raise StoreError(f"{context.store.folder}: {record.trial} can't be kept: {error.strerror}") from error
    return record


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgingContext:
    """What an attempt is judged with."""

    agent: Agent
    """Knows what its tools do."""

    command: RunCommand
    """Runs the commands of checks."""

    redactor: Redactor
    """Takes secrets out of a prompt before it is compared with a file."""

    leaks_fail: bool = True
    """Whether a trial whose canary was leaked fails; otherwise it is only noted."""

    update_snapshots: bool = False
    """Whether prompt snapshots are written instead of compared."""


def judged(trial: Trial, attempt: int, capture: Capture, judging: JudgingContext) -> tuple[Record, Evidence]:
    """Capture → evidence → verdict: the one way in which an attempt is judged, at first and at any time after that.

    The record holds what follows from the capture; when it ended and who was tried are not for the court to say.
    """
    evidence = _observed(capture, judging)
    if judging.update_snapshots:
        write_snapshots(trial.eval, evidence)
    verdict = judge(evidence, trial.eval, judging.command)
    end = capture.ends[-1] if capture.ends else None
    record = Record(
        eval=trial.eval.name,
        subject=str(trial.subject),
        number=trial.number,
        attempt=attempt,
        verdict=verdict,
        spent=evidence.spent,
        chain=call_chain(evidence.trajectory),
        stdout=excerpt(end.stdout.text, lines=10) if end else "",
        stderr=excerpt(end.stderr.text, lines=10) if end else "",
        notes=evidence.notes,
        policy=trial.eval.policy,
        eval_hash="" if capture.breakdown else eval_hash(trial.eval, capture.before),
        prompt_hash=short_hash(evidence.asked) if evidence.asked is not None else None,
    )
    return record, evidence


def _observed(capture: Capture, judging: JudgingContext) -> Evidence:
    """What is known of an attempt. The prompt is compared with a file that is kept, so it holds no secret either."""
    evidence = observe(capture, judging.agent.tool_kinds)
    if evidence.asked is not None:
        evidence = replace(evidence, asked=without_digits(judging.redactor.steady.text(evidence.asked)))
    if evidence.leak is not None and not judging.leaks_fail:
        evidence = replace(evidence, leak=None, notes=(*evidence.notes, evidence.leak))
    return evidence


def _cleaned(
    record: Record, capture: Capture, evidence: Evidence, cleaner: Cleaner
) -> tuple[Record, Capture, Evidence]:
    """An attempt without secrets: here, before anything of it is written. What it is called by stays."""
    token = capture.facts.get("token")
    redactor = cleaner.redactor.also({"gateway-token": token}) if token else cleaner.redactor
    whole = isinstance(record.verdict, Fail) or fit_to_keep(capture.before)
    raw = (record, capture, evidence)
    found = cleaner.clean(raw, redactor, capture.before, capture.after, whole=whole)
    if found is raw:
        return raw
    return (
        replace(found[0], eval=record.eval, subject=record.subject),
        replace(found[1], trial=capture.trial, before=_start(capture.before, found[1].before)),
        replace(found[2], trial=evidence.trial),
    )


def _start(before: Tree, clean: Tree) -> Tree:
    """The starting state as it may be kept: itself, unless it holds secrets; git would keep those compressed."""
    pairs = ((old, clean.entries.get(path)) for path, old in before.entries.items())
    return before if all(new is old or old.same(new) for old, new in pairs) else replace(clean, gaps=(SECRETS,))


def _mind(terms: StopConditions, record: Record, trial: Trial, spent: float, stop: Stop) -> None:
    """Ask for the end of the run where its terms say so."""
    failed = isinstance(record.verdict, Fail) and trial.eval.policy is not Policy.USUALLY_FAILS
    if terms.fail_fast and failed:
        stop.set(f"stopped at the first failure: {record.trial}")
    if terms.budget_usd is not None and spent >= terms.budget_usd:
        stop.set(f"stopped: the budget of ${terms.budget_usd:g} is spent (${spent:.4f})")


@asynccontextmanager
async def _open(context: RunContext) -> AsyncIterator[None]:
    """The sandbox, the gateway and what else there is, up and down again."""
    async with AsyncExitStack() as stack:
        parts: tuple[Sandbox | Gateway, ...] = (context.sandbox, *context.benches, context.gateway)
        for part in parts:
            await part.start()
            stack.push_async_callback(part.stop)
        yield
