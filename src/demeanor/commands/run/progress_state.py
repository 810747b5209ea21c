"""The state of a run while it runs, updated by its progress events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from demeanor.core.evidence import Spent
from demeanor.core.progress import AttemptStarted, Progress
from demeanor.core.record import Record
from demeanor.core.trial import Plan


@dataclass(kw_only=True, slots=True)
class Row:
    """One eval on one subject."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    trials: dict[int, str]
    """The number of each trial → missing, running, pass, fail or void."""

    @property
    def running(self) -> bool:
        """Whether a trial of it is running."""
        return "running" in self.trials.values()

    @property
    def done(self) -> bool:
        """Whether all its trials have ended."""
        return not {"running", "missing"} & set(self.trials.values())


class ProgressState:
    """The state of a run. Its rows are fixed from the start, so that another thread can draw it at any time."""

    def __init__(self, plan: Plan, *, now: float, kept: Iterable[Record] = ()) -> None:
        """A run that starts at the time `now`; `kept` are the records of an earlier part of it."""
        self.rows = {
            cell.id: Row(
                eval=cell.eval.name,
                subject=str(cell.subject),
                trials={trial.number: "missing" for trial in cell.trials},
            )
            for cell in plan.cells
            if cell.trials
        }
        self.started = now
        self.planned = plan.size
        self.spent: list[Spent] = []
        self.counts = Counter({"missing": plan.size})
        for record in kept:
            self._judged(record)
        self._before = self.ended

    def update(self, news: Progress) -> None:
        """Apply one event; a trial that was planned later is added, an unknown cell is ignored."""
        if isinstance(news, AttemptStarted):
            self._set(news.cell, news.number, "running")
        else:
            self._judged(news.record)

    @property
    def ended(self) -> int:
        """How many trials have ended, those of an earlier part of the run included."""
        return self.counts["pass"] + self.counts["fail"] + self.counts["void"]

    def eta(self, now: float) -> float | None:
        """The estimated seconds left; None while too few trials have ended."""
        here, left = self.ended - self._before, self.planned - self.ended
        return (now - self.started) / here * left if here > 1 and left else None

    def _judged(self, record: Record) -> None:
        self.spent.append(record.spent)
        self._set(record.cell, record.number, record.verdict.outcome if record.final else "missing")

    def _set(self, cell: str, number: int, outcome: str) -> None:
        row = self.rows.get(cell)
        if row is not None:
            if number not in row.trials:
                row.trials = {**row.trials, number: "missing"}
                self.planned += 1
                self.counts["missing"] += 1
            self.counts[row.trials[number]] -= 1
            self.counts[outcome] += 1
            row.trials[number] = outcome
