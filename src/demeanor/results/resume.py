"""Resume an earlier run: which options may change, and which of its trials have to run again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from demeanor.core.text.codec import DecodeError, decode
from demeanor.core.text.wording import count
from demeanor.core.values.errors import StoreError, UsageError
from demeanor.core.values.intervention import Intervention
from demeanor.core.values.record import Record
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.trial import Plan
from demeanor.results.baselines import eval_hashes
from demeanor.store.runs import RunFolder

_PATHS = "PATH"
_OPTIONS: Mapping[str, str] = {
    "paths": _PATHS,
    "subjects": "--subject",
    "model": "--model",
    "names": "--scenario",
    "keyword": "-k",
    "suites": "--suite",
    "env": "--env",
    "policy": "--policy",
    "sandbox": "--sandbox",
    "update_snapshots": "--update-snapshots",
    "faults": "--fault",
    "intervention": "--edit-prompt",
    "seed": "--seed",
    "record": "--record",
    "replay": "--replay",
    "shard": "--shard",
}
"""What determines the trials of a run, and the option that sets it."""

_CHANGEABLE = ("trials", "jobs", "timeout", "budget_usd", "budget_tokens", "fail_fast", "agent_debug")
"""What may differ when a run is resumed; `build` is as given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stale:
    """The stored attempts that do not count any more, because what they tested has changed."""

    attempts: Mapping[str, int] = field(default_factory=dict)
    """Trial → its last attempt that does not count."""

    notes: tuple[str, ...] = ()
    """Which evals and subjects have changed or are gone, for the report."""


def resumed_request(run: RunFolder, options: RunRequest) -> RunRequest:
    """The request of an earlier run with the changeable options that were given; others must not differ."""
    try:
        earlier = decode(RunRequest, run.info().arguments)
    except DecodeError as error:
        raise StoreError(f"{run.folder}: the request of the run can't be read: {error}") from None
    if earlier.command != "run":
        raise UsageError(
            f"{run.folder.name} is a run of `demeanor {earlier.command}`,"
            " which decides by other rules than `demeanor run`"
            f"\n  → start the command again: demeanor {earlier.command}"
        )
    if options.kind == "nightly" != earlier.kind:
        raise UsageError(f"{run.folder.name} is no night\n  → resume it with `demeanor run --resume`")
    default = RunRequest()
    for name, option in _OPTIONS.items():
        value = getattr(options, name)
        if value != getattr(default, name) and value != getattr(earlier, name):
            raise UsageError(
                f"{option} can't change when a run is resumed: {run.folder.name} ran"
                f" {_shown(option, getattr(earlier, name))}\n  → leave {option} out, or start a new run"
            )
    done = max((record.number for record in run.records()), default=0)
    if options.trials is not None and options.trials < done:
        raise UsageError(
            f"--trials {options.trials}: {run.folder.name} already has {count(done, 'trial')} of an eval"
            f"\n  → use --trials {done} or more, or start a new run"
        )
    changed = {name: getattr(options, name) for name in _CHANGEABLE if getattr(options, name) != getattr(default, name)}
    return replace(earlier, **{"jobs": None, "build": options.build, **changed})


def stale_attempts(run: RunFolder, plan: Plan, *, settings: bool = True) -> Stale:
    """The attempts of an earlier run that tested another version of an eval than the plan does, or of a subject;
    without `settings`, subjects are not compared."""
    records = run.records()
    if not records:
        return Stale()
    hashes = eval_hashes({cell.eval.name: cell.eval for cell in plan.cells}.values())
    subjects_now = {cell.id: cell.subject.fingerprint for cell in plan.cells} if settings else {}
    attempts: dict[str, int] = {}
    evals: set[str] = set()
    subjects: set[str] = set()
    for record in records:
        now = hashes.get(record.eval, "")
        edited = bool(record.eval_hash and now and record.eval_hash != now)
        changed = bool(
            record.settings_hash and record.settings_hash != subjects_now.get(record.cell, record.settings_hash)
        )
        if edited or changed:
            attempts[record.trial] = max(attempts.get(record.trial, 0), record.attempt)
            evals |= {record.eval} if edited else set()
            subjects |= {record.subject} if changed else set()
    return Stale(attempts=attempts, notes=tuple(_notes(records, plan, evals, subjects)))


def _notes(records: Iterable[Record], plan: Plan, evals: set[str], subjects: set[str]) -> Sequence[str]:
    notes = []
    if evals:
        notes.append(f"edited since the run began, so their trials ran again: {', '.join(sorted(evals))}")
    if subjects:
        notes.append(f"configured differently since the run began, so tried again: {', '.join(sorted(subjects))}")
    planned = {cell.id for cell in plan.cells}
    gone = sorted({record.cell for record in records} - planned)
    if gone:
        notes.append(f"not defined any more, so their trials are left out: {', '.join(gone)}")
    return notes


def _shown(option: str, value: object) -> str:
    """`with --seed 5` or `without --seed`."""
    if isinstance(value, Intervention):
        value = value.edits
    if value in (None, "", False, ()):
        return f"without {option}"
    shown = " ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return f"with {shown}" if option == _PATHS else f"with {option} {shown}"
