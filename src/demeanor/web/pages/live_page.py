"""What runs now: progress, the trials as they end, spend and the time that is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from demeanor.core.values.errors import StoreError, UnknownName
from demeanor.core.values.history import PastRun
from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Void
from demeanor.store.history import (
    LastAttempt,
    RunTotal,
    SqlHistory,
    last_attempts_of,
    outcomes,
    planned_trials,
    run_totals,
)
from demeanor.store.runs import RunFolder, RunningTrial, is_being_written, read_running, runs_in_progress
from demeanor.web.links import STOP_PATH
from demeanor.web.pages.context import PageContext

_LATEST = 3
_SILENT = timedelta(minutes=15)
"""A run of another machine without a new trial for this long is regarded as stopped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunProgress:
    """How far a run is."""

    name: str
    """The run's name."""

    state: str
    """`running`, `stopped` before its end, or `finished`."""

    planned: int
    """Planned trials."""

    total: RunTotal
    """What has ended so far."""

    last: tuple[LastAttempt, ...]
    """The attempts that ended last."""

    elapsed: float | None
    """Seconds since the run began, if it is running."""

    jobs: str
    """The trials in parallel, if they were given."""

    running: tuple[RunningTrial, ...] = ()
    """The trials that it makes now; of a run on this machine."""

    local: bool = False
    """Whether a process on this machine makes it, which can be stopped from here."""

    pages: frozenset[tuple[str, str, int]] | None = None
    """Of the last attempts, the trials that the history has a page of; None if it does not have the run yet."""

    @property
    def done(self) -> int:
        """Trials that have ended."""
        return min(self.planned, _ended(self.total))

    @property
    def share(self) -> float:
        """The share of trials that have ended."""
        return self.done / self.planned if self.planned else 0.0

    @property
    def expected_usd(self) -> float | None:
        """What the whole run will cost, if the other trials cost as much as those that have ended; None if unknown."""
        cost = self.total.spent.cost_usd
        return cost / self.done * self.planned if cost and self.done and not self.total.unpriced else None

    @property
    def left_seconds(self) -> float | None:
        """The time that is left at the present speed; None if unknown."""
        return self.elapsed / self.done * (self.planned - self.done) if self.done and self.elapsed else None

    @property
    def workers(self) -> str:
        """Trials in parallel: as given, and as measured from the time that agents took."""
        measured = self.total.spent.seconds / self.elapsed if self.elapsed and self.done else 0.0
        if measured < 0.05:
            return self.jobs
        return f"{self.jobs} (busy: {measured:.1f})" if self.jobs else f"{measured:.1f} on average"


def live_page(context: PageContext, parts: Mapping[str, str], query: Mapping[str, str]) -> dict[str, Any]:
    """The runs in progress; without one, the last run."""
    local = [_from_ledger(context, folder) for folder in runs_in_progress(context.results)]
    try:
        stored = _from_history(context, {progress.name for progress in local})
    except StoreError:
        if not local:
            raise
        stored = []  # the database is not available, but runs of this machine write their ledgers
    running = local + [progress for progress in stored if progress.state == "running"]
    return {
        "running": running,
        "form_token": context.form_token,
        "stop_path": STOP_PATH,
        "latest": stored[0] if stored and not running else None,
    }


def _from_ledger(context: PageContext, folder: Path) -> RunProgress:
    """A run of this machine: its ledger knows every attempt first."""
    run = RunFolder(folder)
    info, read = run.info(), context.ledger(folder)
    count = Counter(read.outcomes)
    total = RunTotal(
        run=info.id, passed=count["pass"], failed=count["fail"], voided=count["void"], spent=read.spent,
        unpriced=read.unpriced, uncounted=read.uncounted,
    )  # fmt: skip
    return RunProgress(
        name=info.id,
        state="running",
        planned=sum(cell["trials"] for cell in run.cells() if cell["skipped"] is None),
        total=total,
        last=tuple(map(_attempt, read.last)),
        elapsed=_since(info.started),
        jobs=str(info.arguments.get("jobs") or ""),
        running=read_running(folder),
        local=True,
        pages=_pages(context, info.uid or info.id, read.last),
    )


def _pages(context: PageContext, run: str, last: Sequence[Record]) -> frozenset[tuple[str, str, int]] | None:
    """A run writes to its ledger first and to the history a little later, so a trial may not have a page yet."""
    try:
        history = context.history()
        stored = outcomes(history, history.run(run).name, [(record.eval, record.subject) for record in last])
    except (StoreError, UnknownName):
        return None
    return frozenset((*cell, trial.number) for cell, trials in stored.items() for trial in trials)


def _attempt(record: Record) -> LastAttempt:
    cause = record.verdict.cause.value if isinstance(record.verdict, Void) else None
    return LastAttempt(
        eval=record.eval, subject=record.subject, number=record.number, attempt=record.attempt, final=record.final,
        outcome=record.verdict.outcome, cause=cause, ended=record.ended, spent=record.spent,
    )  # fmt: skip


def _from_history(context: PageContext, names_shown: Collection[str]) -> list[RunProgress]:
    """The newest runs of the history, also of other machines, except those that are known already."""
    history = context.history()
    runs = [run for run in history.runs(limit=_LATEST) if run.name not in names_shown]
    names = [run.name for run in runs]
    state = context.state(names)
    totals = context.cached(("totals", *names), state, lambda: run_totals(history, names))
    planned = context.cached(
        ("planned", *names), state, lambda: {name: planned_trials(history, name) for name in names}
    )
    stored = [run for run in runs if run.name in totals]
    states = {run.name: _state(context, history, run, totals[run.name], planned[run.name]) for run in stored}
    shown = [run for run in stored if states[run.name] == "running"] or stored[:1]
    return [_progress(context, run, totals[run.name], planned[run.name], states[run.name]) for run in shown]


def _progress(context: PageContext, run: PastRun, total: RunTotal, planned: int, state: str) -> RunProgress:
    history = context.history()
    last = context.cached(("last", run.name), context.state([run.name]), lambda: last_attempts_of(history, run.name))
    return RunProgress(
        name=run.name,
        state=state,
        planned=planned,
        total=total,
        last=last,
        elapsed=_since(run.info.started) if state == "running" else None,
        jobs=str(run.info.arguments.get("jobs") or ""),
        pages=frozenset((attempt.eval, attempt.subject, attempt.number) for attempt in last),
    )


def _state(context: PageContext, history: SqlHistory, run: PastRun, total: RunTotal, planned: int) -> str:
    if _ended(total) >= planned:
        return "finished"
    folder = next((path for path in (Path(run.source), context.results / run.name) if path.is_dir()), None)
    written = is_being_written(folder) if folder is not None and run.origin == "demeanor" else None
    if written is not None:
        return "running" if written else "stopped"
    last = last_attempts_of(history, run.name, 1)
    newest = _time(last[0].ended if last else run.info.started)
    return "running" if newest is not None and datetime.now(UTC) - newest < _SILENT else "stopped"


def _ended(total: RunTotal) -> int:
    return total.passed + total.failed + total.voided


def _since(started: str) -> float | None:
    began = _time(started)
    return max(0.0, (datetime.now(UTC) - began).total_seconds()) if began else None


def _time(text: str) -> datetime | None:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
