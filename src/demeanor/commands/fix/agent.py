"""Run the fixer: like any other agent in a trial, with a copy of the repository as its workspace.

The copy has one commit, no history and no remote, and the only network access is to the model. The trial is stored in
the folder of the fix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from demeanor.commands.fix.brief import CAUSE, FOLDER
from demeanor.core.trees.tree import Change, Entry, changes
from demeanor.core.values.capture import Capture
from demeanor.core.values.errors import UsageError
from demeanor.core.values.eval import Eval, Source
from demeanor.core.values.policy import Policy
from demeanor.core.values.ports import Executor
from demeanor.core.values.record import Record
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.trajectory import Trajectory
from demeanor.core.values.trial import Trial
from demeanor.core.values.verdict import Pass
from demeanor.runner import UI, Catalog, WrappedExecutor, execute, plan_evals, prepare
from demeanor.store.runs import RunFolder

_LONGEST_PROMPT = 60_000
"""A longer brief does not fit into a command-line argument; the prompt then names the file."""
_READ_THE_FILE = f"Read {FOLDER}/brief.md, then do what it says."


@dataclass(frozen=True, kw_only=True, slots=True)
class FixerResult:
    """What the fixer did in one round."""

    record: Record
    """Its verdict and its usage."""

    changes: tuple[Change, ...]
    """Its changes, without those in `.demeanor-fix/`; contents are in memory."""

    cause: str
    """The root cause according to the fixer. Hostile text."""

    problem: str
    """Why its changes can't be used; empty if they can."""


def check_fixer(catalog: Catalog, fixer: str) -> str:
    """Return the fixer as a subject; raise UsageError if there is none or it can't be started."""
    if not fixer:
        raise UsageError(
            "no fixer is configured\n"
            '  → name one in the configuration, [fix] fixer = "claude-code:MODEL", or with --fixer AGENT:MODEL\n'
            "  → or only print the brief: demeanor fix --dry-run"
        )
    subject = catalog.subject(fixer)
    missing = catalog.of(subject).missing()
    if missing:
        raise UsageError(f"can't start the fixer {fixer}: {missing}")
    return str(subject)


def run_fixer(
    catalog: Catalog,
    request: RunRequest,
    tree: Path,
    files: Mapping[str, str],
    *,
    folder: Path,
    ui: UI,
) -> FixerResult:
    """Run the fixer of the request on a copy of `tree`; `files` are the brief and the evidence."""
    catalog = Catalog(config=replace(catalog.config, faults=()), environ=catalog.environ)
    brief = files["brief.md"]
    job = Eval(
        name="fix",
        policy=Policy.USUALLY_PASSES,
        scenario=Scenario(
            prompts=(brief if len(brief.encode()) <= _LONGEST_PROMPT else _READ_THE_FILE,),
            template=tree,
            files={f"{FOLDER}/{name}": text.encode("utf-8", "replace") for name, text in files.items()},
            timeout=request.timeout,
        ),
        checks=(),
        source=Source(path=catalog.config.where),
    )
    plan = plan_evals(catalog, [job], replace(request, trials=1, jobs=1), catalog.environ)
    if plan.cells[0].skipped:
        raise UsageError(f"can't start the fixer: {plan.cells[0].skipped}")
    run = prepare(catalog, plan, request, RunFolder(folder), in_history=False)
    recorder = _ChangeRecorder(run.context.executor)
    result = execute(replace(run, context=replace(run.context, executor=recorder)), ui=ui)
    if result.interrupted:
        raise KeyboardInterrupt
    return _result(run.folder, result.records[-1], recorder)


class _ChangeRecorder(WrappedExecutor):
    """An executor that keeps the changes of the last attempt in memory: stored captures are redacted and may be cut."""

    def __init__(self, inner: Executor) -> None:
        super().__init__(inner)
        self.changes: tuple[Change, ...] = ()
        self.gaps: tuple[str, ...] = ()

    async def run_attempt(self, trial: Trial, attempt: int) -> Capture:
        """Run one attempt, and keep its changes."""
        capture = await self._inner.run_attempt(trial, attempt)
        self.changes = tuple(_load(change) for change in changes(capture.before, capture.after))
        self.gaps = capture.after.gaps
        return capture


def _load(change: Change) -> Change:
    return replace(change, before=_load_entry(change.before), after=_load_entry(change.after))


def _load_entry(entry: Entry | None) -> Entry | None:
    return replace(entry, content=entry.read()) if entry is not None else None


def _result(store: RunFolder, record: Record, recorder: _ChangeRecorder) -> FixerResult:
    own_files = {change.path: change for change in recorder.changes if change.path.startswith(f"{FOLDER}/")}
    cause = own_files.get(f"{FOLDER}/{CAUSE}")
    written = cause.after.read() if cause and cause.after and cause.after.kind == "file" else None
    said = Trajectory(events=store.events(record)).final_text
    root_cause = (written or b"").decode("utf-8", "replace").strip() or (said or record.stdout).strip()
    problem = "" if isinstance(record.verdict, Pass) else record.verdict.reason
    return FixerResult(
        record=record,
        changes=tuple(change for change in recorder.changes if change.path not in own_files),
        cause=root_cause,
        problem=problem or "; ".join(recorder.gaps),
    )
