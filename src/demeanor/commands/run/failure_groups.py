"""What went wrong in a cell, told once for all the trials in which it went wrong in the same way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from demeanor.commands.run.report import CellReport
from demeanor.core.record import Record
from demeanor.core.verdict import Fail, Void


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """One way in which trials failed or broke."""

    reason: str
    """The findings that said no, or the cause of the void. Hostile text."""

    trials: tuple[Record, ...]
    """The trials with this reason."""

    @property
    def numbers(self) -> list[int]:
        """The numbers of the trials."""
        return [trial.number for trial in self.trials]

    @property
    def chains(self) -> dict[str, list[int]]:
        """The different tool-call chains, each with the numbers of its trials. Hostile text."""
        found: dict[str, list[int]] = {}
        for trial in self.trials:
            found.setdefault(trial.chain, []).append(trial.number)
        return found


def failures(cell: CellReport) -> tuple[Failure, ...]:
    """The ways in which trials of this cell failed."""
    return ways_to_fail(cell.trials)


def voids(cell: CellReport) -> tuple[Failure, ...]:
    """The ways in which trials of this cell broke without a verdict."""
    return ways_to_break(cell.trials)


def ways_to_fail(trials: Iterable[Record]) -> tuple[Failure, ...]:
    """The ways in which some trials failed."""
    return _grouped((record, record.verdict.reason) for record in trials if isinstance(record.verdict, Fail))


def ways_to_break(trials: Iterable[Record]) -> tuple[Failure, ...]:
    """The ways in which some trials broke without a verdict."""
    return _grouped((record, record.verdict.reason) for record in trials if isinstance(record.verdict, Void))


def _grouped(found: Iterable[tuple[Record, str]]) -> tuple[Failure, ...]:
    """Reasons that differ in nothing but the trial's own name are one."""
    by_reason: dict[str, tuple[str, list[Record]]] = {}
    for record, reason in found:
        by_reason.setdefault(reason.replace(record.trial, record.cell), (reason, []))[1].append(record)
    return tuple(Failure(reason=reason, trials=tuple(trials)) for reason, trials in by_reason.values())
