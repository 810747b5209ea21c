"""The nights that count for promotions and as baseline of a gate: what they ran can be found again, and is enough.

A nightly run counts if it ran on the default branch without uncommitted changes. The runs of one calendar day (UTC) are
one night: of each cell, the last run with enough judged trials counts, so that a night may be split into several runs
and repeated after an outage. Outside a git repository there are no branches, so every nightly run counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from demeanor.config import Config
from demeanor.core.text.wording import count
from demeanor.core.trees.git import default_branch, has_commits
from demeanor.core.values.eval import Eval
from demeanor.core.values.history import PastRun, RunCell
from demeanor.core.values.ports import History
from demeanor.core.values.trial import DEFAULT_TRIALS


@dataclass(frozen=True, kw_only=True, slots=True)
class NightFilter:
    """Which nightly runs count, and which of their cells."""

    in_repository: bool
    """Whether the project is in a git repository."""

    branch: str | None
    """The branch that nights run on; None if it is unknown."""

    trials: int = DEFAULT_TRIALS
    """The configured number of trials of a cell."""

    min_trials: int | None = None
    """The number of judged trials that a cell needs; None means two thirds of the configured trials."""

    def problem(self, run: PastRun) -> str | None:
        """Why a nightly run does not count; None if it does."""
        info = run.info
        if not self.in_repository:
            return None
        if info.commit is None:
            return "without a commit"
        if info.dirty is not False:
            return "with uncommitted changes"
        if self.branch is None:
            return "as the default branch is unknown (set `branch` in [nightly])"
        if info.branch != self.branch:
            return f"on branch {info.branch}" if info.branch else "on no branch (detached HEAD)"
        return None

    def needed(self, own: Eval | None) -> int:
        """The number of judged trials that a cell of this eval needs in a night."""
        planned = own.trials if own is not None and own.trials else self.trials
        return min(self.min_trials, planned) if self.min_trials is not None else -(-planned * 2 // 3)


@dataclass(frozen=True, kw_only=True, slots=True)
class CountedNights:
    """The nights that count, and why other nightly runs do not."""

    days: tuple[tuple[PastRun, ...], ...]
    """The runs of each night, oldest first."""

    ignored: Mapping[str, int]
    """Why nightly runs do not count → how many."""

    filter: NightFilter
    """The rules that were applied."""

    @property
    def nights(self) -> tuple[PastRun, ...]:
        """The last run of each night, which stands for the night; oldest first."""
        return tuple(runs[-1] for runs in self.days)

    def cells(self, history: History, evals: Mapping[str, Eval | None], last: int | None = None) -> Iterator[RunCell]:
        """The cells of these evals in the last nights, oldest first: one per night, eval and subject.

        A cell without enough judged trials is left out; one of an earlier run of the same day takes its place.
        """
        days = self.days[-last:] if last is not None else self.days
        night_of = {run.name: runs[-1] for runs in days for run in runs}
        found: dict[tuple[str, str, str], RunCell] = {}
        for cell in history.nightly_cells(None, evals=evals, runs=night_of):
            night = night_of[cell.run]
            if cell.judged >= self.filter.needed(evals.get(cell.eval)):
                key = night.name, cell.eval, cell.subject
                found.pop(key, None)
                same = cell.run == night.name  # nearly always: a copy of each cell would take longer than the rest
                found[key] = cell if same else replace(cell, run=night.name, started=night.info.started)
        yield from sorted(found.values(), key=lambda cell: (cell.started, cell.run))

    def last_evals(self, history: History) -> frozenset[str]:
        """The names of the evals of the last night, skipped ones included; none if there is no night."""
        runs = {run.name for run in self.days[-1]} if self.days else ()
        return frozenset(cell.eval for cell in history.nightly_cells(None, runs=runs)) if runs else frozenset()

    @property
    def notes(self) -> tuple[str, ...]:
        """Which nightly runs do not count, in a sentence."""
        if not self.ignored:
            return ()
        reasons = ", ".join(f"{number} {reason}" for reason, number in self.ignored.items())
        where = f"nights are clean runs on {self.filter.branch}" if self.filter.branch else "nights are clean runs"
        return (f"{count(sum(self.ignored.values()), 'nightly run')} not counted: {reasons}; {where}",)


def night_filter(config: Config) -> NightFilter:
    """The rules of a project."""
    night = config.at_night()
    return NightFilter(
        in_repository=has_commits(config.root),
        branch=config.nightly.branch or default_branch(config.root),
        trials=night.trials or DEFAULT_TRIALS,
        min_trials=config.nightly.min_trials,
    )


def counted_nights(history: History, rules: NightFilter) -> CountedNights:
    """The nights of the history that count."""
    return count_nights(reversed(history.runs(kind="nightly")), rules)


def count_nights(runs: Iterable[PastRun], rules: NightFilter) -> CountedNights:
    """Select and group nightly runs, oldest first."""
    days: dict[str, list[PastRun]] = {}
    ignored: Counter[str] = Counter()
    for run in runs:
        problem = rules.problem(run)
        if problem is None:
            days.setdefault(run.info.started[:10], []).append(run)
        else:
            ignored[problem] += 1
    return CountedNights(days=tuple(tuple(own) for own in days.values()), ignored=ignored, filter=rules)
