"""Groups the failed and void trials of a cell by their reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from demeanor.commands.run.report import CellReport
from demeanor.core.record import Record
from demeanor.core.verdict import Fail, Void


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """Trials that failed, or are void, for the same reason."""

    reason: str
    """The failed findings, or the cause of the void. Untrusted text."""

    trials: tuple[Record, ...]
    """The trials with this reason."""

    @property
    def numbers(self) -> list[int]:
        """The numbers of the trials."""
        return [trial.number for trial in self.trials]

    @property
    def chains(self) -> dict[str, list[int]]:
        """The distinct tool-call chains, each with the numbers of its trials. Untrusted text."""
        found: dict[str, list[int]] = {}
        for trial in self.trials:
            found.setdefault(trial.chain, []).append(trial.number)
        return found


def failures(cell: CellReport) -> tuple[Failure, ...]:
    """The failed trials of this cell, by reason."""
    return failed_by_reason(cell.trials)


def voids(cell: CellReport) -> tuple[Failure, ...]:
    """The void trials of this cell, by reason."""
    return void_by_reason(cell.trials)


def failed_by_reason(trials: Iterable[Record]) -> tuple[Failure, ...]:
    """The failed ones of some trials, by reason."""
    return _grouped((record, record.verdict.reason) for record in trials if isinstance(record.verdict, Fail))


def void_by_reason(trials: Iterable[Record]) -> tuple[Failure, ...]:
    """The void ones of some trials, by reason."""
    return _grouped((record, record.verdict.reason) for record in trials if isinstance(record.verdict, Void))


def _grouped(found: Iterable[tuple[Record, str]]) -> tuple[Failure, ...]:
    """Group by reason; reasons that differ only in the trial's own name are the same."""
    by_reason: dict[str, tuple[str, list[Record]]] = {}
    for record, reason in found:
        by_reason.setdefault(reason.replace(record.trial, record.cell), (reason, []))[1].append(record)
    return tuple(Failure(reason=reason, trials=tuple(trials)) for reason, trials in by_reason.values())
