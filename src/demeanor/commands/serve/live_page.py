"""What runs now: progress, the trials as they end, spend and the time that is left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from demeanor.commands.serve.context import PageContext
from demeanor.core.history import PastRun
from demeanor.store.history import SqlHistory
from demeanor.store.history.page_queries import LastAttempt, RunTotal, last_attempts_of, planned_trials, run_totals
from demeanor.store.runs.in_progress import is_being_written

_LATEST = 3
_SILENT = timedelta(minutes=15)
"""A run of another machine without a new trial for this long is regarded as stopped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunProgress:
    """How far a run is."""

    run: PastRun
    """The run."""

    state: str
    """`running`, `stopped` before its end, or `finished`."""

    planned: int
    """Planned trials."""

    total: RunTotal
    """What has ended so far."""

    last: tuple[LastAttempt, ...]
    """The attempts that ended last."""

    left_seconds: float | None
    """The time that is left at the present speed; None if unknown."""

    jobs: str
    """The trials in parallel, if they were given."""

    @property
    def done(self) -> int:
        """Trials that have ended."""
        return min(self.planned, self.total.passed + self.total.failed + self.total.voided)

    @property
    def share(self) -> float:
        """The share of trials that have ended."""
        return self.done / self.planned if self.planned else 0.0


def live_page(context: PageContext, parts: Mapping[str, str], query: Mapping[str, str]) -> dict[str, Any]:
    """The runs in progress; without one, the last run."""
    history = context.history()
    runs = history.runs(limit=_LATEST)
    names = [run.name for run in runs]
    state = context.state(names)
    totals = context.cached(("totals", *names), state, lambda: run_totals(history, names))
    known = [run for run in runs if run.name in totals]
    planned = context.cached(
        ("planned", *names), state, lambda: {name: planned_trials(history, name) for name in names}
    )
    states = {run.name: _state(context, history, run, totals[run.name], planned[run.name]) for run in known}
    shown = [run for run in known if states[run.name] == "running"] or known[:1]
    found = [_progress(context, run, totals[run.name], planned[run.name], states[run.name]) for run in shown]
    running = [one for one in found if one.state == "running"]
    return {"running": running, "latest": found[0] if found and not running else None}


def _progress(context: PageContext, run: PastRun, total: RunTotal, planned: int, state: str) -> RunProgress:
    history = context.history()
    done = total.passed + total.failed + total.voided
    return RunProgress(
        run=run,
        state=state,
        planned=planned,
        total=total,
        last=context.cached(("last", run.name), context.state([run.name]), lambda: last_attempts_of(history, run.name)),
        left_seconds=_left(run, done, planned) if state == "running" else None,
        jobs=str(run.info.arguments.get("jobs") or ""),
    )


def _state(context: PageContext, history: SqlHistory, run: PastRun, total: RunTotal, planned: int) -> str:
    if total.passed + total.failed + total.voided >= planned:
        return "finished"
    folder = next((path for path in (Path(run.source), context.results / run.name) if path.is_dir()), None)
    written = is_being_written(folder) if folder is not None and run.origin == "demeanor" else None
    if written is not None:
        return "running" if written else "stopped"
    last = last_attempts_of(history, run.name, 1)
    newest = _time(last[0].ended if last else run.info.started)
    return "running" if newest is not None and datetime.now(UTC) - newest < _SILENT else "stopped"


def _left(run: PastRun, done: int, planned: int) -> float | None:
    began = _time(run.info.started)
    if not done or began is None:
        return None
    elapsed = (datetime.now(UTC) - began).total_seconds()
    return elapsed / done * (planned - done) if elapsed > 0 else None


def _time(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
