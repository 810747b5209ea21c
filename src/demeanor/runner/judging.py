"""Judges one attempt: capture → evidence → verdict → record, redacted and stored.

`judged` is the only way in which an attempt is judged, during a run and when `demeanor rejudge` judges it again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from demeanor.core.redaction.redactor import Redactor, without_digits
from demeanor.core.redaction.values import Cleaner, why_withheld
from demeanor.core.text.wording import count, excerpt
from demeanor.core.trees.open_files import REMEDY, out_of_files
from demeanor.core.trees.tree import Tree
from demeanor.core.trees.tree_restore import discard_spooled
from demeanor.core.values.agent import Agent, tool_kinds
from demeanor.core.values.capture import Breakdown, Capture
from demeanor.core.values.errors import StoreError
from demeanor.core.values.evidence import Evidence
from demeanor.core.values.fingerprints import eval_hash, short_hash, subject_hash
from demeanor.core.values.intervention import Intervention
from demeanor.core.values.ports import RunCommand
from demeanor.core.values.record import Record
from demeanor.core.values.starting_state import SECRETS, fit_to_keep
from demeanor.core.values.trial import Trial
from demeanor.core.values.verdict import Fail, Void, VoidCause
from demeanor.judge import AskChecks, FindBlame, ask_here, blame_unknown, call_chain, judge, no_judge, write_snapshots
from demeanor.observe import observe
from demeanor.runner.judges import TrialJudge, with_judge_spent
from demeanor.runner.schedule import is_final
from demeanor.store.runs import write_call_log

if TYPE_CHECKING:
    from demeanor.runner.assemble import RunContext

_SMALL_FILES, _SMALL_BYTES = 500, 64 * 1024
"""The most that a small attempt has: files in the workspace, and bytes that were printed or changed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgingContext:
    """What is needed to judge an attempt."""

    agent: Agent
    """The agent, which knows what each of its tools does."""

    command: RunCommand
    """Runs the commands of checks."""

    redactor: Redactor
    """Removes secrets from a prompt before it is compared with its snapshot."""

    ask: AskChecks = ask_here
    """Asks the checks."""

    find_blame: FindBlame = blame_unknown
    """Finds out what makes a check crash."""

    leaks_fail: bool = True
    """Whether a trial whose canary token leaked fails; otherwise the leak is only noted."""

    update_snapshots: bool = False
    """Whether prompt snapshots are written instead of compared."""

    judge: TrialJudge | None = None
    """Asks the judge about this attempt; None if no judge can be asked."""


async def judge_and_store(trial: Trial, attempt: int, capture: Capture, context: RunContext, *, last: bool) -> Record:
    """Judge one attempt and store it; `last` says that the trial gets no further attempt.

    A small attempt is judged in the event loop, because handing it to a thread and back takes longer than that. Any
    other one is judged in a thread, so that it does not delay the agents and the gateway.
    """
    capture = _with_unreached_start(trial, _with_missing_instructions(trial, capture))
    judging = _judging(trial, capture, context)
    ask, cell = context.checks.ask_in_loop, trial.cell
    if ask is None or judging.update_snapshots or cell not in context.judged_cells or not _is_small(capture):
        record = await asyncio.to_thread(_judge_and_store, trial, attempt, capture, context, judging, last=last)
        context.judged_cells.add(cell)
        return record
    evidence = _observe(trial, capture, judging)
    if evidence.trouble is not None:
        return await asyncio.to_thread(_judge_and_store, trial, attempt, capture, context, judging, last=last)
    answers = await ask(evidence, trial.eval, judging.command, judging.judge or no_judge)
    judging = replace(judging, ask=lambda *_: answers)
    if any(answer.crash is not None for answer in answers):  # the rehearsals that show whose fault it is take long
        return await asyncio.to_thread(_judge_and_store, trial, attempt, capture, context, judging, last=last)
    return _judge_and_store(trial, attempt, capture, context, judging, evidence, last=last)


def _is_small(capture: Capture) -> bool:
    """Whether an attempt is judged within a few milliseconds: no model was asked, and little was printed or changed."""
    if capture.exchanges or capture.task_files or len(capture.after.entries) > _SMALL_FILES:
        return False
    before, after = capture.before.entries, capture.after.entries
    changed = sum(entry.size for path, entry in after.items() if entry is not before.get(path))
    printed = sum(len(end.stdout.text) + len(end.stderr.text) for end in capture.ends)
    return changed + printed <= _SMALL_BYTES


def _judging(trial: Trial, capture: Capture, context: RunContext) -> JudgingContext:
    return JudgingContext(
        agent=context.agent(trial.subject),
        command=context.sandbox.command,
        redactor=context.cleaner.redactor,
        ask=context.checks.ask,
        find_blame=context.checks.find_blame,
        leaks_fail=context.leaks_fail,
        update_snapshots=context.update_snapshots,
        judge=context.judges.of_trial(trial, capture, asking="missing") if context.judges else None,
    )


def _judge_and_store(
    trial: Trial,
    attempt: int,
    capture: Capture,
    context: RunContext,
    judging: JudgingContext,
    evidence: Evidence | None = None,
    *,
    last: bool,
) -> Record:
    agent = judging.agent
    try:
        record, evidence = judged(trial, attempt, capture, judging, evidence)
    finally:
        answers = judging.judge.answers if judging.judge else ()
        after = discard_spooled(capture.after)
        if after is not capture.after or answers != capture.judge_answers:
            capture = replace(capture, after=after, judge_answers=answers)
    if evidence.after is not after:
        evidence = replace(evidence, after=after)
    verdict = record.verdict
    prompt, facts = record.prompt_hash, capture.facts
    version = facts.get("agent_version") or (agent.version() if capture.ends and "worker" not in facts else None)
    record = replace(
        record,
        ended=datetime.now(UTC).isoformat(timespec="milliseconds"),
        final=is_final(record, capture, last=last or evidence.injected),
        agent_version=version,
        fingerprint=subject_hash(trial.subject, version=version, prompt=prompt, facts=facts) if capture.ends else "",
    )
    record, stored, evidence = _redact(record, capture, evidence, context.cleaner)
    try:
        record = context.store.append(record, stored, evidence)
        if context.record and not isinstance(verdict, Void):
            context.record(trial, capture)
        if trial.eval.log:
            write_call_log(trial.eval.source.path, record)
    except OSError as error:
        remedy = f"\n  → {REMEDY}" if out_of_files(error) else ""
        problem = f"{context.store.folder}: {record.trial} can't be stored: {error.strerror}{remedy}"
        raise StoreError(problem) from error
    return record


def _with_missing_instructions(trial: Trial, capture: Capture) -> Capture:
    """The capture, broken if an instruction that was to be changed was in none of its requests: the agent then did the
    trial with its usual prompt."""
    changed = {intervention for exchange in capture.exchanges for intervention in exchange.interventions}
    missing = sorted(Intervention.of(trial.subject).ids - changed)
    if not missing or not capture.exchanges or capture.breakdown:
        return capture
    detail = f"in none of {count(len(capture.exchanges), 'request')}: {', '.join(missing)}"
    return replace(capture, breakdown=Breakdown(cause=VoidCause.INTERVENTION, detail=detail))


def _with_unreached_start(trial: Trial, capture: Capture) -> Capture:
    """The capture, broken if the agent ended before the step at which its trial starts, without having differed."""
    start = trial.eval.scenario.start
    asked = [exchange for exchange in capture.exchanges if not exchange.replayed]
    if start is None or asked or capture.breakdown or (start.instead and len(capture.exchanges) >= start.cut):
        return capture
    if any(exchange.error and exchange.error.reason == "prefix" for exchange in capture.exchanges):
        return capture
    got = f"{count(len(capture.exchanges), 'request')} of {start.cut}"
    detail = f"the agent ended before step {start.step}, at which the trial starts: it made {got}"
    return replace(capture, breakdown=Breakdown(cause=VoidCause.PREFIX, detail=detail))


def judged(
    trial: Trial, attempt: int, capture: Capture, judging: JudgingContext, evidence: Evidence | None = None
) -> tuple[Record, Evidence]:
    """Capture → evidence → verdict; `evidence` is given if it has been read from the capture already.

    The record holds only what follows from the capture: not when the attempt ended, nor the subject's fingerprint.
    """
    evidence = evidence or _observe(trial, capture, judging)
    if judging.update_snapshots:
        write_snapshots(trial.eval, evidence)
    verdict = judge(
        evidence,
        trial.eval,
        judging.command,
        ask=judging.ask,
        ask_judge=judging.judge or no_judge,
        find_blame=judging.find_blame,
    )
    answers, remarks = (judging.judge.answers, judging.judge.notes) if judging.judge else ((), ())
    end = capture.ends[-1] if capture.ends else None
    record = Record(
        eval=trial.eval.name,
        subject=str(trial.subject),
        number=trial.number,
        attempt=attempt,
        verdict=verdict,
        spent=with_judge_spent(evidence.spent, (*capture.user, *answers)),
        chain=call_chain(evidence.trajectory),
        stdout=excerpt(end.stdout.text, lines=10) if end else "",
        stderr=excerpt(end.stderr.text, lines=10) if end else "",
        notes=(*evidence.notes, *remarks),
        policy=trial.eval.policy,
        eval_hash="" if capture.breakdown else eval_hash(trial.eval, capture.before),
        model_hash=trial.subject.model_hash,
        settings_hash=trial.subject.fingerprint,
        prompt_hash=_prompt_hash(evidence),
    )
    return record, evidence


def _prompt_hash(evidence: Evidence) -> str | None:
    if evidence.asked is None:
        return None
    return short_hash(evidence.asked, *([list(evidence.sampling)] if evidence.sampling else ()))


def _observe(trial: Trial, capture: Capture, judging: JudgingContext) -> Evidence:
    """The evidence of an attempt; its prompt is redacted, because it is compared with a file that is committed."""
    evidence = observe(capture, tool_kinds(judging.agent, trial.eval.scenario))
    if evidence.asked is not None:
        evidence = replace(evidence, asked=without_digits(judging.redactor.steady.text(evidence.asked)))
    if evidence.leak is not None and not judging.leaks_fail:
        evidence = replace(evidence, leak=None, notes=(*evidence.notes, evidence.leak))
    return evidence


def _redact(record: Record, capture: Capture, evidence: Evidence, cleaner: Cleaner) -> tuple[Record, Capture, Evidence]:
    """Remove secrets before anything is written. The names of eval, subject and trial stay as they are."""
    token = capture.facts.get("token")
    redactor = cleaner.redactor.also({"gateway-token": token}) if token else cleaner.redactor
    whole = isinstance(record.verdict, Fail) or fit_to_keep(capture.before)
    raw = (record, capture, evidence)
    cleaned = cleaner.clean(raw, redactor, capture.before, capture.after, whole=whole)
    if cleaned is raw:
        return raw
    notes = (*cleaned[0].notes, *_withheld(capture.after, cleaned[1].after, redactor))
    return (
        replace(cleaned[0], eval=record.eval, subject=record.subject, notes=notes),
        replace(cleaned[1], trial=capture.trial, before=_storable_start(capture.before, cleaned[1].before)),
        replace(cleaned[2], trial=evidence.trial),
    )


def _withheld(after: Tree, clean: Tree, redactor: Redactor) -> Iterator[str]:
    """Notes on files of which nothing was kept, because a git object in them contains a secret."""
    for path, entry in after.entries.items():
        shown = redactor.text(path)
        kept = clean.entries.get(shown)
        if kept is not None and kept.content is None and (content := entry.read()) is not None:
            yield f"{shown} is not kept: {why_withheld(content, redactor)}"


def _storable_start(before: Tree, clean: Tree) -> Tree:
    """The starting state; the redacted one, marked as incomplete, if it holds secrets, which are in its commits too."""
    pairs = ((old, clean.entries.get(path)) for path, old in before.entries.items())
    return before if all(new is old or old.same(new) for old, new in pairs) else replace(clean, gaps=(SECRETS,))
