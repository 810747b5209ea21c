"""Groups the failed and void trials of a cell by their reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Fail, Void, VoidCause

if TYPE_CHECKING:
    from demeanor.reports.run.report import CellReport, RunReport

_MOST_NOTES = 5


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
        chains: dict[str, list[int]] = {}
        for trial in self.trials:
            chains.setdefault(trial.chain, []).append(trial.number)
        return chains

    @property
    def remedy(self) -> str:
        """What to do about the cause, if the trials are void."""
        verdict = self.trials[0].verdict
        return verdict.cause.remedy if isinstance(verdict, Void) else ""


def failures(cell: CellReport) -> tuple[Failure, ...]:
    """The failed trials of this cell, by reason."""
    return failed_by_reason(cell.trials)


def voids(cell: CellReport) -> tuple[Failure, ...]:
    """The void trials of this cell, by reason."""
    return void_by_reason(cell.trials)


@dataclass(frozen=True, kw_only=True, slots=True)
class StartFailure:
    """The trials of a subject in which its agent did not start."""

    subject: str
    """The subject."""

    trials: tuple[Record, ...]
    """The trials."""

    @property
    def reason(self) -> str:
        """How the agent failed in the first of them, and the notes about it. Untrusted text."""
        first = self.trials[0]
        reason = first.verdict.reason if isinstance(first.verdict, Void) else ""
        return "\n".join([reason, *(note for note in first.notes[:_MOST_NOTES] if note not in reason)])

    @property
    def evals(self) -> int:
        """The number of evals."""
        return len({trial.eval for trial in self.trials})


def start_failures(report: RunReport) -> tuple[StartFailure, ...]:
    """The agents that did not start, each with all its trials: the reason is the same for all evals."""
    records: dict[str, list[Record]] = {}
    for cell in report.cells:
        for trial in cell.trials:
            if _did_not_start(trial):
                records.setdefault(trial.subject, []).append(trial)
    return tuple(StartFailure(subject=subject, trials=tuple(trials)) for subject, trials in records.items())


def otherwise_void(report: RunReport) -> list[CellReport]:
    """The cells with a trial that is void for another reason than that the agent did not start."""
    return [
        cell
        for cell in report.cells
        if any(isinstance(trial.verdict, Void) and not _did_not_start(trial) for trial in cell.trials)
    ]


def _did_not_start(trial: Record) -> bool:
    return isinstance(trial.verdict, Void) and trial.verdict.cause is VoidCause.AGENT_START


def failed_by_reason(trials: Iterable[Record]) -> tuple[Failure, ...]:
    """The failed ones of some trials, by reason."""
    return _grouped((record, record.verdict.reason) for record in trials if isinstance(record.verdict, Fail))


def void_by_reason(trials: Iterable[Record]) -> tuple[Failure, ...]:
    """The void ones of some trials, by reason."""
    return _grouped((record, record.verdict.reason) for record in trials if isinstance(record.verdict, Void))


def _grouped(reasons: Iterable[tuple[Record, str]]) -> tuple[Failure, ...]:
    """Group by reason; reasons that differ only in the trial's own name are the same."""
    by_reason: dict[str, tuple[str, list[Record]]] = {}
    for record, reason in reasons:
        by_reason.setdefault(reason.replace(record.trial, record.cell), (reason, []))[1].append(record)
    return tuple(Failure(reason=reason, trials=tuple(trials)) for reason, trials in by_reason.values())
