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

_LATEST = 6
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
    totals = run_totals(history, [run.name for run in runs])
    found = [_progress(context, history, run, totals[run.name]) for run in runs if run.name in totals]
    running = [one for one in found if one.state == "running"]
    return {"running": running, "latest": found[0] if found and not running else None}


def _progress(context: PageContext, history: SqlHistory, run: PastRun, total: RunTotal) -> RunProgress:
    planned = planned_trials(history, run.name)
    done = total.passed + total.failed + total.voided
    last = last_attempts_of(history, run.name, 1)
    state = "finished" if done >= planned else _state(context, run, last)
    return RunProgress(
        run=run,
        state=state,
        planned=planned,
        total=total,
        last=last_attempts_of(history, run.name),
        left_seconds=_left(run, done, planned) if state == "running" else None,
        jobs=str(run.info.arguments.get("jobs") or ""),
    )


def _state(context: PageContext, run: PastRun, last: tuple[LastAttempt, ...]) -> str:
    folder = next((path for path in (Path(run.source), context.results / run.name) if path.is_dir()), None)
    written = is_being_written(folder) if folder is not None and run.origin == "demeanor" else None
    if written is not None:
        return "running" if written else "stopped"
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
