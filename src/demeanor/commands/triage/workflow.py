"""A run that was kept → what went wrong in it, in groups."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from demeanor.commands.run.stored_runs import StoredRun, stored_run
from demeanor.commands.trace.kept_trials import story_of
from demeanor.commands.trace.trial_steps import TrialSteps
from demeanor.commands.triage.report import Group, Triage, triage
from demeanor.config.config import Config
from demeanor.core.record import Record
from demeanor.core.run_request import RunRequest
from demeanor.core.text import one_line
from demeanor.core.verdict import Fail, Pass, Void
from demeanor.store.captures.capture_store import CaptureStore, open_capture_store
from demeanor.store.runs.run_dirs import runs
from demeanor.store.runs.run_folder import RunFolder

_RUNS_BACK = 10
"""How many earlier runs are searched for a trial that passed."""
_LONGEST = 1000


def make_triage(
    run: StoredRun, config: Config, results: Path, *, against: StoredRun | None = None, options: Sequence[str] = ()
) -> Triage:
    """What went wrong in a run.

    Where no trial of an eval passed, one is looked for in `against`, or in earlier runs. `options` are needed by every
    command here, such as `--config FILE`.
    """
    vault = open_capture_store(config)
    trials = run.trials()
    wrong = {record.eval for record in trials if not isinstance(record.verdict, Pass)}
    stories = [_story(run, record, vault) for record in trials if record.eval in wrong]
    passed = {record.eval for record in trials if isinstance(record.verdict, Pass)}
    failing = {record.eval: record.eval_hash for record in trials if isinstance(record.verdict, Fail)}
    alone = {name: asked for name, asked in failing.items() if name not in passed}
    others = [
        _story(other, record, vault)
        for other, record in _passes(alone, [against] if against else _earlier(run, results))
    ]
    return Triage(
        run=run.name,
        trials=len(trials),
        failed=sum(isinstance(record.verdict, Fail) for record in trials),
        voided=sum(isinstance(record.verdict, Void) for record in trials),
        groups=tuple(with_commands(group, run, options) for group in triage(stories, others)),
    )


def with_commands(group: Group, run: StoredRun, options: Sequence[str] = ()) -> Group:
    """A group with the commands that show its example, and try it again; of a run of another tool there are none."""
    where = str(run.folder.folder) if run.info.rejudges and run.folder else run.name
    words = ["demeanor", "trace", one_line(group.example.trial, width=_LONGEST), "--run", where]
    if group.parting is not None:
        words.append("--diff")
        words += ["--against", group.parting.run] if group.parting.run != run.name else []
    again = reproduce(group.example, run.request)
    return replace(
        group,
        trace=shlex.join([*words, *options]) if run.folder is not None else "",
        reproduce=shlex.join([*again, *options]) if run.origin == "demeanor" else "",
    )


def reproduce(record: Record, request: RunRequest, *, trials: int = 3) -> list[str]:
    """The command that tries a trial's eval and subject again, as its run was asked to."""
    words = ["demeanor", "run", *dict.fromkeys(path.partition("::")[0] for path in request.paths)]
    words += [
        "--scenario",
        one_line(record.eval, width=_LONGEST),
        "--subject",
        one_line(record.subject, width=_LONGEST),
    ]
    words += ["--trials", str(trials)]
    for fault in request.faults:
        words += ["--fault", str(fault)]
    for option, value in (("--sandbox", request.sandbox), ("--timeout", request.timeout), ("--replay", request.replay)):
        words += [option, f"{value:g}" if isinstance(value, float) else value] if value is not None else []
    return words


def _earlier(run: StoredRun, results: Path) -> Iterator[StoredRun]:
    """The runs before this one, the newest first."""
    if run.folder is None:
        return
    before = [path for path in runs(results) if path.name < run.name]
    for path in reversed(before[-_RUNS_BACK:]):
        yield stored_run(RunFolder(path))


def _passes(
    alone: dict[str, str], others: Iterator[StoredRun] | Sequence[StoredRun]
) -> Iterator[tuple[StoredRun, Record]]:
    """For evals of which no trial passed: the trials that did, of the last run that has any of the same eval."""
    wanted = dict(alone)
    for other in others:
        if not wanted:
            return
        found = {}
        for record in other.trials(wanted):
            if isinstance(record.verdict, Pass) and record.eval_hash == wanted[record.eval]:
                found[record.eval] = True
                yield other, record
        for name in found:
            del wanted[name]


def _story(run: StoredRun, record: Record, vault: CaptureStore | None) -> TrialSteps:
    return story_of(run.name, record, run.folder, vault)
