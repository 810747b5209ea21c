"""Find a trial by the name that a person gives it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from demeanor.core.values.errors import UnknownName, UsageError
from demeanor.core.values.record import Record

if TYPE_CHECKING:
    pass


def find_record(records: Sequence[Record], trial: str | None) -> Record:
    """Return the first matching attempt that did not pass, or else the first matching attempt."""
    if not records:
        raise UsageError("this run has no trials yet")
    wanted = (trial or "").rstrip("/").replace("/trial-", "/")
    found = [record for record in records if not wanted or f"{record.trial}/".startswith(f"{wanted}/")]
    if not found:
        raise UnknownName("trial", wanted, {record.trial for record in records})
    found.sort(key=lambda record: (record.verdict.outcome == "pass", record.number, record.attempt))
    return found[0]
