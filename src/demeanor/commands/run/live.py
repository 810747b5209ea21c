"""The progress of a run while it runs: rows with dots on a terminal, one line per finished trial elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, TextIO

from rich.text import Text

from demeanor.commands.run.progress_state import ProgressState, Row
from demeanor.core.progress import AttemptStarted, Progress
from demeanor.core.record import Record
from demeanor.core.text import one_line
from demeanor.core.usage import total
from demeanor.core.verdict import Fail, Void
from demeanor.render import numbers as figures
from demeanor.render.marks import STYLES, dots
from demeanor.render.table import Column, cut, table
from demeanor.render.terminal import Screen, paint, screen_of

if TYPE_CHECKING:
    from rich.console import Group

    from demeanor.core.trial import Plan

_REFRESHES_PER_SECOND = 4


@contextmanager
def watching(
    plan: Plan,
    stream: TextIO,
    *,
    kept: Iterable[Record] = (),
    screen: Screen | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Callable[[Progress], None]]:
    """Show a run's progress on `stream`; the function that comes of it wants every piece of news.

    `kept` are the records of an earlier part of a run that is resumed.
    """
    screen = screen or screen_of(stream)
    standing = ProgressState(plan, now=clock(), kept=kept)
    if screen.live:
        with _drawing(standing, stream, screen, clock):
            yield standing.update
        return

    def tell(news: Progress) -> None:
        standing.update(news)
        if not isinstance(news, AttemptStarted):
            stream.write(paint([line(standing, news.record, screen)], screen))
            stream.flush()

    yield tell


def line(standing: ProgressState, record: Record, screen: Screen) -> Text:
    """One finished attempt, on one line."""
    verdict = record.verdict
    place = f"[{standing.ended:>{len(str(standing.planned))}}/{standing.planned}]"
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


def frame(standing: ProgressState, screen: Screen, *, height: int, now: float) -> list[Text]:
    """What a terminal of `height` lines shows: a row per eval and subject as far as there is room, and the totals."""
    rows, hidden = _chosen(list(standing.rows.values()), max(2, height - 4))
    widest = max((len(row.eval) for row in standing.rows.values()), default=0)
    lines = table(_columns(rows, widest, screen), screen.width, ellipsis=screen.safe("…"))[1:] if rows else []
    if hidden:
        lines.append(Text(screen.safe(f"… and {hidden} more"), "dim"))
    return [*lines, _totals(standing, screen, now)]


def _columns(rows: Sequence[Row], widest: int, screen: Screen) -> list[Column]:
    """The names as wide as the widest of all, so that nothing jumps when rows come and go."""
    subjects = {row.subject for row in rows}
    shown = [Text(screen.safe(one_line(row.eval)).ljust(min(widest, 100))) for row in rows]
    names = Column(title="", cells=shown, least=8, comfort=20)
    trials = Column(title="", cells=[dots(row.trials.values(), screen) for row in rows])
    who = [Text(screen.safe(one_line(row.subject)), "dim") for row in rows]
    return [names, trials, Column(title="", cells=who, least=8, comfort=12)] if len(subjects) > 1 else [names, trials]


def _chosen(rows: Sequence[Row], room: int) -> tuple[list[Row], int]:
    """The rows to show where there is not room for all: those that run first, then what waits, then what is done."""
    if len(rows) <= room:
        return list(rows), 0
    ranked = sorted(range(len(rows)), key=lambda index: (not rows[index].running, rows[index].done, index))
    return [rows[index] for index in sorted(ranked[: room - 1])], len(rows) - room + 1


def _totals(standing: ProgressState, screen: Screen, now: float) -> Text:
    spent, unpriced, _ = total(standing.spent)
    counts = standing.counts
    told = [f"{standing.ended}/{standing.planned} trials"]
    told += [f"{counts[name]} {word}" for name, word in (("fail", "failed"), ("void", "void")) if counts[name]]
    told.append(figures.duration(now - standing.started))
    eta = standing.eta(now)
    if eta is not None:
        told.append(f"about {figures.duration(eta)} left")
    if spent.cost_usd is not None:
        told.append(figures.money(spent, unpriced))
    return cut(Text(screen.safe(" · ".join(told)), "bold"), screen.width, ellipsis=screen.safe("…"))


@contextmanager
def _drawing(standing: ProgressState, stream: TextIO, screen: Screen, clock: Callable[[], float]) -> Iterator[None]:
    """Draw the standing over and over again until the run ends; then the terminal is left to the report."""
    from rich.console import Console, Group
    from rich.live import Live

    console = Console(file=stream, color_system="standard" if screen.color else None, force_terminal=True)

    def draw() -> Group:
        width, height = console.size
        return Group(*frame(standing, replace(screen, width=width), height=height, now=clock()))

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
