"""The fixing agent at work: on a bench as any other agent, with a copy of the repository as its workspace.

It finds one commit, no history, no remote, and no network but its model's. What it leaves is harvested as with any
trial, and its capture is kept beside the fix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from demeanor.commands.fix.brief import CAUSE, FOLDER
from demeanor.core.capture import Capture
from demeanor.core.errors import UsageError
from demeanor.core.eval import Eval, Source
from demeanor.core.policy import Policy
from demeanor.core.ports import Executor
from demeanor.core.record import Record
from demeanor.core.run_request import RunRequest
from demeanor.core.scenario import Scenario
from demeanor.core.trajectory import Said
from demeanor.core.tree import Change, Entry, changes
from demeanor.core.trial import Trial
from demeanor.core.verdict import Pass
from demeanor.runner.catalog import Catalog
from demeanor.runner.execute import execute, prepare
from demeanor.runner.plan import plan_evals
from demeanor.runner.ui import UI
from demeanor.store.runs.run_folder import RunFolder

_LONGEST = 60_000
"""A longer brief is no argument of a command; the fixer is sent to the file."""
_POINTER = f"Read {FOLDER}/brief.md, then do what it says."


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """What a fixer did in one round."""

    record: Record
    """How it ended, and what it used."""

    changes: tuple[Change, ...]
    """What it changed, its own notes left out; contents are held in memory."""

    cause: str
    """The root cause in its own words. Hostile text."""

    problem: str
    """Why its work can't be used, if so."""


def check_fixer(catalog: Catalog, fixer: str) -> str:
    """The fixer as a subject that can be started; a UsageError where there is none."""
    if not fixer:
        raise UsageError(
            "nobody is named to mend it\n"
            '  → write who in the configuration: [fix] fixer = "claude-code:MODEL", or say --fixer AGENT:MODEL\n'
            "  → or only look: demeanor fix --dry-run"
        )
    subject = catalog.subject(fixer)
    missing = catalog.of(subject).missing()
    if missing:
        raise UsageError(f"the fixer {fixer} can't be started: {missing}")
    return str(subject)


def let_fix(
    catalog: Catalog,
    request: RunRequest,
    tree: Path,
    notes: Mapping[str, str],
    *,
    folder: Path,
    ui: UI,
) -> Work:
    """Let the fixer of the request work on a copy of `tree` with these notes, the brief among them."""
    catalog = Catalog(config=replace(catalog.config, faults=()), environ=catalog.environ)
    brief = notes["brief.md"]
    job = Eval(
        name="fix",
        policy=Policy.USUALLY_PASSES,
        scenario=Scenario(
            prompts=(brief if len(brief.encode()) <= _LONGEST else _POINTER,),
            template=tree,
            files={f"{FOLDER}/{name}": text.encode("utf-8", "replace") for name, text in notes.items()},
            timeout=request.timeout,
        ),
        checks=(),
        source=Source(path=catalog.config.where),
    )
    plan = plan_evals(catalog, [job], replace(request, trials=1, jobs=1), catalog.environ)
    if plan.cells[0].skipped:
        raise UsageError(f"the fixer can't be started: {plan.cells[0].skipped}")
    run = prepare(catalog, plan, request, RunFolder(folder), in_history=False)
    harvest = _Harvest(run.context.executor)
    result = execute(replace(run, context=replace(run.context, executor=harvest)), ui=ui)
    if result.interrupted:
        raise KeyboardInterrupt
    return _work(run.folder, result.records[-1], harvest)


class _Harvest:
    """An executor that holds on to what the last attempt changed: what is kept is redacted, and may not be whole."""

    def __init__(self, inner: Executor) -> None:
        self._inner = inner
        self.changes: tuple[Change, ...] = ()
        self.gaps: tuple[str, ...] = ()

    @property
    def slots(self) -> int:
        """As many as there are."""
        return self._inner.slots

    async def run_attempt(self, trial: Trial, attempt: int) -> Capture:
        """Carry out one attempt, and hold on to what it changed."""
        found = await self._inner.run_attempt(trial, attempt)
        self.changes = tuple(_held(change) for change in changes(found.before, found.after))
        self.gaps = found.after.gaps
        return found


def _held(change: Change) -> Change:
    return replace(change, before=_in_memory(change.before), after=_in_memory(change.after))


def _in_memory(entry: Entry | None) -> Entry | None:
    return replace(entry, content=entry.read()) if entry is not None else None


def _work(store: RunFolder, record: Record, harvest: _Harvest) -> Work:
    own = {change.path: change for change in harvest.changes if change.path.startswith(f"{FOLDER}/")}
    cause = own.get(f"{FOLDER}/{CAUSE}")
    written = cause.after.read() if cause and cause.after and cause.after.kind == "file" else None
    said = [event.text for event in store.events(record) if isinstance(event, Said)]
    words = (written or b"").decode("utf-8", "replace").strip() or (said[-1] if said else record.stdout).strip()
    problem = "" if isinstance(record.verdict, Pass) else record.verdict.reason
    return Work(
        record=record,
        changes=tuple(change for change in harvest.changes if change.path not in own),
        cause=words,
        problem=problem or "; ".join(harvest.gaps),
    )
