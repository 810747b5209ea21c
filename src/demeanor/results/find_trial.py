"""Find a trial by the name that a person gives it."""

from __future__ import annotations

from demeanor.core.text.wording import opening
from demeanor.core.values.errors import UnknownName, UsageError
from demeanor.core.values.record import Record
from demeanor.results.runs import StoredRun

_MOST_SKIPPED = 3
_WIDTH = 1000


def find_record(run: StoredRun, trial: str | None) -> Record:
    """Return the first matching attempt that did not pass, or else the first matching attempt."""
    path = (trial or "").rstrip("/").replace("/trial-", "/")
    records = [record for record in run.records if _matches(record.trial, path)]
    if not records:
        raise _no_trial(run, path)
    records.sort(key=lambda record: (record.verdict.outcome == "pass", record.number, record.attempt))
    return records[0]


def _matches(name: str, path: str) -> bool:
    return not path or f"{name}/".startswith(f"{path}/")


def _no_trial(run: StoredRun, path: str) -> UsageError:
    """The error for a name without a trial; a cell that was skipped has none."""
    named = {cell: why for cell, why in run.skipped.items() if _matches(cell, path) or _matches(path, cell)}
    skipped = [f"{cell} was skipped: {why}" for cell, why in named.items()]
    if skipped:
        return UsageError(opening("\n".join(skipped), lines=_MOST_SKIPPED, width=_WIDTH).replace("\n", "\n  "))
    if not run.records and not run.skipped:
        return UsageError("this run has no trials yet")
    return UnknownName("trial", path, {*(record.trial for record in run.records), *run.skipped})
