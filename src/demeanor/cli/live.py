"""Shows the progress of a run: a live table on a terminal, one line per finished attempt elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TextIO

from rich.text import Text

from demeanor.core.text.wording import count, one_line
from demeanor.core.values.progress import AttemptStarted, Progress, WorkersChanged
from demeanor.core.values.record import Record
from demeanor.core.values.usage import RunningTotal
from demeanor.core.values.verdict import Fail, Void
from demeanor.render import STYLES, Column, Screen, cut, dots, numbers as figures, paint, screen_of, table

if TYPE_CHECKING:
    from rich.console import Group

    from demeanor.core.values.trial import Plan

_REFRESHES_PER_SECOND = 4


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
        self.spent = RunningTotal()
        self.workers = ""
        """The workers of a cluster; empty for a run on this machine."""
        self.counts = Counter({"missing": plan.size})
        for record in kept:
            self._judged(record)
        self._before = self.ended

    def update(self, news: Progress) -> None:
        """Apply one event; a trial that was planned later is added, an unknown cell is ignored."""
        if isinstance(news, AttemptStarted):
            self._set(news.cell, news.number, "running")
        elif isinstance(news, WorkersChanged):
            self.workers = f"{count(news.workers, 'worker')}, {count(news.slots, 'slot')}"
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
        self.spent.add(record.spent)
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


@contextmanager
def show_progress(
    plan: Plan,
    stream: TextIO,
    *,
    kept: Iterable[Record] = (),
    screen: Screen | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Callable[[Progress], None]]:
    """Show the progress of a run on `stream`; the yielded function must get every progress event.

    `kept` are the records of an earlier part of the run, if it is resumed.
    """
    screen = screen or screen_of(stream)
    state = ProgressState(plan, now=clock(), kept=kept)
    if screen.live:
        with _drawing(state, stream, screen, clock):
            yield state.update
        return

    def print_line(news: Progress) -> None:
        before = state.workers
        state.update(news)
        if isinstance(news, WorkersChanged):
            if state.workers != before:
                stream.write(paint([Text(state.workers, "dim")], screen))
                stream.flush()
        elif not isinstance(news, AttemptStarted):
            stream.write(paint([line(state, news.record, screen)], screen))
            stream.flush()

    yield print_line


def line(state: ProgressState, record: Record, screen: Screen) -> Text:
    """One finished attempt, on one line."""
    verdict = record.verdict
    place = f"[{state.ended:>{len(str(state.planned))}}/{state.planned}]"
    word = verdict.outcome.upper() if record.final else "AGAIN"
    parts = [
        f"{one_line(record.eval)} · {one_line(record.subject)} · trial {record.number}",
        figures.duration(record.spent.seconds),
    ]
    if record.spent.cost_usd is not None:
        parts.append(figures.money(record.spent))
    if isinstance(verdict, Fail | Void):
        parts.append(one_line(verdict.reason, width=200))
    return Text.assemble(
        (f"{place} ", "dim"), (f"{word:<5}", STYLES[verdict.outcome]), " ", screen.safe("  ".join(parts))
    )


def frame(state: ProgressState, screen: Screen, *, height: int, now: float) -> list[Text]:
    """What a terminal of `height` lines shows: as many rows as fit, one per eval and subject, and the totals."""
    rows, hidden = _visible_rows(list(state.rows.values()), max(2, height - 4))
    widest = max((len(row.eval) for row in state.rows.values()), default=0)
    lines = table(_columns(rows, widest, screen), screen)[1:] if rows else []
    if hidden:
        lines.append(Text(screen.safe(f"… and {hidden} more"), "dim"))
    return [*lines, _totals(state, screen, now)]


def _columns(rows: Sequence[Row], widest: int, screen: Screen) -> list[Column]:
    """The columns; the first is as wide as the longest name of all rows, so that nothing moves when rows change."""
    subjects = {row.subject for row in rows}
    shown = [Text(screen.safe(one_line(row.eval)).ljust(min(widest, 100))) for row in rows]
    names = Column(title="", cells=shown, least=8, comfort=20)
    trials = Column(title="", cells=[dots(row.trials.values(), screen) for row in rows])
    who = [Text(screen.safe(one_line(row.subject)), "dim") for row in rows]
    return [names, trials, Column(title="", cells=who, least=8, comfort=12)] if len(subjects) > 1 else [names, trials]


def _visible_rows(rows: Sequence[Row], most: int) -> tuple[list[Row], int]:
    """At most `most` rows, running ones first, then waiting ones, then finished ones; and how many are hidden."""
    if len(rows) <= most:
        return list(rows), 0
    ranked = sorted(range(len(rows)), key=lambda index: (not rows[index].running, rows[index].done, index))
    return [rows[index] for index in sorted(ranked[: most - 1])], len(rows) - most + 1


def _totals(state: ProgressState, screen: Screen, now: float) -> Text:
    spent, unpriced, _ = state.spent.value
    counts = state.counts
    parts = [f"{state.ended}/{count(state.planned, 'trial')}"]
    parts += [f"{counts[name]} {word}" for name, word in (("fail", "failed"), ("void", "void")) if counts[name]]
    parts += [state.workers] if state.workers else []
    parts.append(figures.duration(now - state.started))
    eta = state.eta(now)
    if eta is not None:
        parts.append(f"about {figures.duration(eta)} left")
    if spent.cost_usd is not None:
        parts.append(figures.money(spent, unpriced))
    return cut(Text(screen.safe(" · ".join(parts)), "bold"), screen.width, screen)


@contextmanager
def _drawing(state: ProgressState, stream: TextIO, screen: Screen, clock: Callable[[], float]) -> Iterator[None]:
    """Redraw the state until the run ends, then clear it for the report."""
    from rich.console import Console, Group
    from rich.live import Live

    console = Console(file=stream, color_system="standard" if screen.color else None, force_terminal=True)

    def draw() -> Group:
        width, height = console.size
        return Group(*frame(state, replace(screen, width=width), height=height, now=clock()))

    with Live(
        console=console,
        get_renderable=draw,
        refresh_per_second=_REFRESHES_PER_SECOND,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        vertical_overflow="crop",
    ):
        yield
