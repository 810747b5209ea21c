"""The night report for a person in front of a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.text import Text

from demeanor.commands.report import phrases as night_words
from demeanor.commands.report.build import telling
from demeanor.commands.report.report import FailingCell, NightReport, NightRow, SubjectNights
from demeanor.commands.report.sparkline import sparkline
from demeanor.commands.run.phrases import POLICIES
from demeanor.core.text import one_line, opening
from demeanor.render import numbers as figures
from demeanor.render.marks import STYLES, sign
from demeanor.render.table import Column, table, wrapped
from demeanor.render.terminal import Screen, paint

MOST_ROWS = 60
"""Evals per subject on a screen, unless all are asked for."""

_REASON_LINES = 6


def night_terminal(report: NightReport, screen: Screen | None = None, *, most_rows: int = MOST_ROWS) -> str:
    """The report as text for `screen`, with at most so many evals per subject, those with something to tell first."""
    screen = screen or Screen()
    return paint(_report(report, screen, most_rows), screen)


def _report(report: NightReport, screen: Screen, most_rows: int) -> Iterator[Text]:
    yield Text(screen.safe(night_words.title(report)), "bold")
    yield from wrapped(Text(screen.safe(night_words.origin(report)), "dim"), screen.width)
    for one in report.subjects:
        yield Text()
        yield from _subject(report, one, screen, most_rows)
    yield from _troubles("Failed", report, report.failures, report.more_failures, screen)
    yield from _troubles("Void: tried, but not judged", report, report.voids, report.more_voids, screen)
    changes = list(night_words.changes(report))
    if changes:
        yield Text()
        yield Text("What changed", "bold")
    for mark, told in changes:
        first, *more = wrapped(Text(screen.safe(f"{mark} {told}")), screen.width - 2)
        yield first
        yield from (Text.assemble("  ", line) for line in more)
    yield Text()
    for mark in night_words.used_marks(report):
        shown = "." if screen.ascii and mark == "·" else screen.safe(mark)
        yield Text(f"{shown}  {night_words.LEGEND[mark]}", "dim")
    yield from wrapped(Text(screen.safe(f"history: {night_words.history(report)}"), "dim"), screen.width)
    for note in report.notes:
        yield from wrapped(Text(screen.safe(f"note: {one_line(note, width=400)}"), "dim"), screen.width)


def _subject(report: NightReport, one: SubjectNights, screen: Screen, most_rows: int) -> Iterator[Text]:
    yield Text(screen.safe(one_line(one.subject)), "bold")
    facts = [
        ("total pass rate", night_words.total(one)),
        ("change", night_words.compared(one)),
        ("trials", night_words.counts(one)),
        ("used", night_words.used(one.totals[-1])),
    ]
    for label, text in facts:
        if text:
            lead = f"  {label:<15}  "
            first, *more = wrapped(Text(screen.safe(text)), screen.width, indent=len(lead))
            yield Text.assemble((lead, "dim"), first[len(lead) :])
            yield from more
    rows = telling(one.rows, most_rows)
    yield from table(list(_columns(report, rows, screen)), screen.width, ellipsis=screen.safe("…"))
    if len(rows) < len(one.rows):
        left = f"… and {len(one.rows) - len(rows)} more evals with nothing worse to tell (--all shows them)"
        yield Text(screen.safe(left), "dim")


def _columns(report: NightReport, rows: Sequence[NightRow], screen: Screen) -> Iterator[Column]:
    def column(title: str, show: Callable[[NightRow], Text], *, rank: int = 0, right: bool = True) -> Column:
        return Column(title=title, cells=[show(row) for row in rows], rank=rank, align="right" if right else "left")

    def figure(title: str, show: Callable[[NightRow], str], *, rank: int) -> Column:
        def text(row: NightRow) -> Text:
            shown = screen.safe(show(row))
            return Text(shown, "dim" if shown in {screen.safe(night_words.MISSING), figures.UNKNOWN} else "")

        return column(title, text, rank=rank)

    names = [Text(screen.safe(one_line(row.eval, width=300))) for row in rows]
    tonight = "tonight" if report.run.kind == "nightly" else "this run"
    many = len(report.nights) - 1
    yield column("", lambda row: _sign(row, screen), right=False)
    yield column("", _status, rank=3, right=False)
    yield Column(title="eval", cells=names, comfort=30, least=8)
    yield column("policy", lambda row: Text(POLICIES[row.policy], "dim"), rank=9, right=False)
    yield column(tonight, lambda row: _tonight(row, screen))
    if many:
        yield column("change", lambda row: _change(row, screen))
        yield column("history", lambda row: sparkline(row.cells, screen), right=False)
        yield figure("together", night_words.together, rank=4)
    if any(row.tonight.voided for row in rows):
        yield figure("void", lambda row: str(row.tonight.voided or ""), rank=2)
    for title, rank in (("time", 6), ("tokens", 7), ("cost", 5)):
        yield figure(title, lambda row, title=title: night_words.spending(row)[title], rank=rank)  # type: ignore[misc]


def _sign(row: NightRow, screen: Screen) -> Text:
    if row.decision is None:
        return Text(" ")
    return sign("news" if row.decision.news else row.decision.answer, screen)


def _status(row: NightRow) -> Text:
    word = night_words.status(row)
    if row.decision is None or word == "expected fail":
        return Text(word, "dim")
    answer = "news" if row.decision.news else row.decision.answer
    return Text(word, STYLES["void"] if word == "FLAKY" and answer == "accept" else STYLES[answer])


def _tonight(row: NightRow, screen: Screen) -> Text:
    cell = row.tonight
    if cell.rate is None:
        return Text(screen.safe(night_words.state(cell)), "dim")
    return Text(screen.safe(figures.rate(cell.rate)))


def _change(row: NightRow, screen: Screen) -> Text:
    step = row.change
    if step is None:
        return Text(screen.safe(night_words.MISSING), "dim")
    style = "" if not step.clear else "bold red" if step.value < 0 else "bold green"
    return Text(screen.safe(night_words.points(step)), style)


def _troubles(
    heading: str, report: NightReport, found: Sequence[FailingCell], more: int, screen: Screen
) -> Iterator[Text]:
    if not found:
        return
    yield Text()
    yield Text(heading, "bold")
    for one in found:
        row = report.row(one.eval, one.subject)
        name = f"{one_line(one.eval)} · {one_line(one.subject)}"
        yield from wrapped(
            Text(screen.safe(f"{name}  {row.tonight.passed} of {row.tonight.judged} passed"), "bold"), screen.width
        )
        for way in one.ways:
            yield Text("  " + screen.safe(figures.trials(list(way.trials))), "dim")
            yield from wrapped(Text(screen.safe(opening(way.reason, lines=_REASON_LINES))), screen.width, indent=4)
        for command in night_words.commands(report, one):
            yield Text(f"  $ {screen.safe(command)}", "cyan")
    if more:
        yield Text(screen.safe(night_words.more(more)), "dim")
