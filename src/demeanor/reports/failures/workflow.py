"""Triage a stored run: load its trials, group the failures, and add the commands that show and repeat each one."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from demeanor.config import Config
from demeanor.core.text.wording import count, one_line
from demeanor.core.values.errors import StoreError
from demeanor.core.values.record import Record
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.verdict import Fail, Pass, Void
from demeanor.reports.failures.report import Group, Triage, group_failures
from demeanor.results import StoredRun, load_steps, runs_before
from demeanor.store.captures import open_capture_store

_EARLIER_RUNS = 10
"""How many earlier runs are searched for a passing trial."""
_LONGEST = 1000


def make_triage(
    run: StoredRun,
    config: Config,
    environ: Mapping[str, str],
    results: Path,
    *,
    against: StoredRun | None = None,
    options: Sequence[str] = (),
) -> Triage:
    """Group the failures of a run.

    For an eval of which no trial passed, a passing one is taken from `against`, or else from earlier runs. `options`,
    such as `--config FILE`, are added to every command in the result.
    """
    captures = open_capture_store(config)
    trials = run.trials()
    not_passed = {record.eval for record in trials if not isinstance(record.verdict, Pass)}
    own = [load_steps(run.place, record, captures) for record in trials if record.eval in not_passed]
    passed = {record.eval for record in trials if isinstance(record.verdict, Pass)}
    without_pass = {
        record.eval: record.eval_hash
        for record in trials
        if isinstance(record.verdict, Fail) and record.eval not in passed
    }
    earlier = [against] if against else runs_before(run, results, config, environ, most=_EARLIER_RUNS)
    others, notes = [], []
    try:
        others += [load_steps(other.place, record, captures) for other, record in _find_passes(without_pass, earlier)]
    except StoreError as error:
        notes.append(f"passing trials of earlier runs are not known: {str(error).partition(chr(10))[0]}")
    absent = [trial.absence for trial in (*own, *others) if trial.absence]
    notes += [f"the steps of {count(len(absent), 'trial')} can't be read: {absent[0]}"] if absent else []
    return Triage(
        run=run.name,
        trials=len(trials),
        failed=sum(isinstance(record.verdict, Fail) for record in trials),
        voided=sum(isinstance(record.verdict, Void) for record in trials),
        groups=tuple(with_commands(group, run, options) for group in group_failures(own, others)),
        notes=tuple(notes),
    )


def with_commands(group: Group, run: StoredRun, options: Sequence[str] = ()) -> Group:
    """Return a group with the commands that show its example and run it again; imported runs get none."""
    where = str(run.folder.folder) if run.info.rejudges and run.folder else run.name
    words = ["demeanor", "trace", one_line(group.example.trial, width=_LONGEST), "--run", where]
    if group.parting is not None:
        words.append("--diff")
        words += ["--against", group.parting.run] if group.parting.run != run.name else []
    again = reproduce(group.example, run.request)
    return replace(
        group,
        trace=shlex.join([*words, *options]) if run.place.origin == "demeanor" else "",
        reproduce=shlex.join([*again, *options]) if run.place.origin == "demeanor" else "",
    )


def reproduce(record: Record, request: RunRequest) -> list[str]:
    """Return the command that runs a trial's eval and subject again, with the options of its run."""
    words = ["demeanor", "run", *dict.fromkeys(path.partition("::")[0] for path in request.paths)]
    words += ["--scenario", one_line(record.eval, width=_LONGEST)]
    words += ["--subject", one_line(record.subject, width=_LONGEST)]
    words += ["--trials", "3"]
    for fault in request.faults:
        words += ["--fault", str(fault)]
    for option, value in (("--sandbox", request.sandbox), ("--timeout", request.timeout), ("--replay", request.replay)):
        if value is not None:
            words += [option, f"{value:g}" if isinstance(value, float) else value]
    return words


def _find_passes(hashes: dict[str, str], others: Iterable[StoredRun]) -> Iterator[tuple[StoredRun, Record]]:
    """Yield, for each eval, the passing trials of the first run that has any. `hashes` are the eval hashes by name."""
    hashes_left = dict(hashes)
    for other in others:
        if not hashes_left:
            return
        sources = set()
        for record in other.trials(hashes_left):
            if isinstance(record.verdict, Pass) and record.eval_hash == hashes_left[record.eval]:
                sources.add(record.eval)
                yield other, record
        for name in sources:
            del hashes_left[name]
