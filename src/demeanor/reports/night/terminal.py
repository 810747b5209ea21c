"""The night report for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.text import Text

from demeanor.core.text.wording import count, one_line, opening
from demeanor.render import (
    STYLES,
    Column,
    Screen,
    hanging,
    labelled,
    numbers,
    paint,
    paragraph,
    sign,
    table,
    text_column,
)
from demeanor.reports.night import phrases
from demeanor.reports.night.build import most_important
from demeanor.reports.night.digest import digest, verdict
from demeanor.reports.night.report import FailingCell, NightCell, NightReport, NightRow, SubjectNights
from demeanor.reports.run import policy_word

MOST_ROWS = 60
"""Evals per subject, without --all."""

_REASON_LINES = 6
_VERDICT_STYLES = {"accepted": STYLES["accept"], "rejected": STYLES["reject"], "undecided": STYLES["undecided"]}
_BARS = "▁▂▃▄▅▆▇█"
_GAPS = {"no data": ("○", "o"), "skipped": ("·", "."), "absent": (phrases.MISSING, "-")}


def night_terminal(report: NightReport, screen: Screen | None = None, *, most_rows: int = MOST_ROWS) -> str:
    """The report as text for `screen`, with the `most_rows` most important evals per subject."""
    screen = screen or Screen()
    return paint(_report(report, screen, most_rows), screen)


def _report(report: NightReport, screen: Screen, most_rows: int) -> Iterator[Text]:
    yield Text(screen.safe(phrases.title(report)), "bold")
    yield from paragraph(verdict(report), screen, _VERDICT_STYLES[report.verdict])
    yield from paragraph(phrases.origin(report), screen, "dim")
    if layers := phrases.layers(report):
        yield from paragraph(layers, screen)
    yield from _digest(report, screen)
    if report.batch is not None:
        yield Text()
        yield Text(phrases.batch(report), "bold")
        yield from _facts(
            [
                ("total pass rate", phrases.total(report.batch)),
                ("change", phrases.compared(report.batch)),
                ("history", phrases.rates(report.batch) if len(report.nights) > 1 else ""),
            ],
            screen,
        )
    for nights in report.subjects:
        yield Text()
        yield from _subject(report, nights, screen, most_rows)
    yield from _failing_cells("Failed", report, report.failures, report.more_failures, screen)
    yield from _failing_cells("Void: run, but not judged", report, report.voids, report.more_voids, screen)
    changes = list(phrases.changes(report))
    if changes:
        yield Text()
        yield Text("What changed", "bold")
    for mark, text in changes:
        yield from hanging(f"{mark} {text}", screen)
    yield Text()
    for mark in phrases.used_marks(report):
        shown = "." if screen.ascii and mark == "·" else screen.safe(mark)
        yield Text(f"{shown}  {phrases.LEGEND[mark]}", "dim")
    if phrases.expected_fails(report):
        yield from paragraph(phrases.EXPECTED_LEGEND, screen, "dim")
    yield from paragraph(f"history: {phrases.history(report)}", screen, "dim")
    if alarms := phrases.false_alarms(report):
        yield from paragraph(screen.safe(alarms), screen, "dim")
    for note in report.notes:
        yield from paragraph(f"note: {one_line(note, width=400)}", screen, "dim")


def _digest(report: NightReport, screen: Screen) -> Iterator[Text]:
    for section in digest(report):
        yield Text()
        yield Text(section.title, "bold")
        for item in section.items:
            yield from hanging(item.text, screen)
            for command in item.commands:
                yield Text(f"  $ {screen.safe(command)}", "cyan")
        if section.more:
            yield Text(screen.safe(f"… and {section.more} more (--format json has all)"), "dim")


def _subject(report: NightReport, nights: SubjectNights, screen: Screen, most_rows: int) -> Iterator[Text]:
    yield Text(screen.safe(one_line(nights.subject)), "bold")
    facts = [
        ("total pass rate", phrases.total(nights)),
        ("known to fail", phrases.known_bad(nights.totals[-1])),
        ("change", phrases.compared(nights)),
        ("trials", phrases.counts(nights)),
        ("used", phrases.used(nights.totals[-1])),
    ]
    yield from _facts(facts, screen)
    rows = most_important(nights.rows, most_rows)
    yield from table(_columns(report, rows, screen), screen)
    if len(rows) < len(nights.rows):
        left = f"… and {count(len(nights.rows) - len(rows), 'more eval')} without news (--all shows them)"
        yield Text(screen.safe(left), "dim")


def _facts(facts: Iterable[tuple[str, str]], screen: Screen) -> Iterator[Text]:
    for label, text in facts:
        if text:
            yield from labelled(f"  {label:<15}  ", text, screen)


def _columns(report: NightReport, rows: Sequence[NightRow], screen: Screen) -> Iterator[Column]:
    def column(title: str, show: Callable[[NightRow], Text], *, rank: int = 0, right: bool = True) -> Column:
        return Column(title=title, cells=[show(row) for row in rows], rank=rank, align="right" if right else "left")

    def figure(title: str, show: Callable[[NightRow], str], *, rank: int) -> Column:
        def text(row: NightRow) -> Text:
            shown = screen.safe(show(row))
            return Text(shown, "dim" if shown in {screen.safe(phrases.MISSING), numbers.UNKNOWN} else "")

        return column(title, text, rank=rank)

    tonight = "tonight" if report.run.kind == "nightly" else "this run"
    many = len(report.nights) - 1
    yield column("", lambda row: _sign(row, screen), right=False)
    yield column("", _status, rank=3, right=False)
    yield text_column("eval", [one_line(row.eval, width=300) for row in rows], screen, comfort=24, least=8)
    yield column("policy", lambda row: Text(policy_word(row.policy, screen.width), "dim"), right=False)
    if phrases.has_tasks(rows):
        yield column("layer", lambda row: Text(str(row.layer), "dim"), rank=3)
    yield column(tonight, lambda row: _tonight(row, screen))
    if many:
        yield column("change", lambda row: _change(row, screen))
        yield column("history", lambda row: sparkline(row.cells, screen), right=False)
        yield figure("together", phrases.together, rank=4)
    if any(row.tonight.voided for row in rows):
        yield figure("void", lambda row: str(row.tonight.voided or ""), rank=2)
    for title, rank in (("time", 6), ("tokens", 7), ("cost", 5)):
        yield figure(title, lambda row, title=title: phrases.spending(row)[title], rank=rank)  # type: ignore[misc]


def _sign(row: NightRow, screen: Screen) -> Text:
    if row.decision is None:
        return Text(" ")
    return sign("news" if row.decision.news else row.decision.answer, screen)


def _status(row: NightRow) -> Text:
    word = phrases.status(row)
    if row.decision is None or word == "expected fail":
        return Text(word, "dim")
    answer = "news" if row.decision.news else row.decision.answer
    return Text(word, STYLES["void"] if word == "FLAKY" and answer == "accept" else STYLES[answer])


def _tonight(row: NightRow, screen: Screen) -> Text:
    cell = row.tonight
    if cell.rate is None:
        return Text(screen.safe(phrases.state(cell)), "dim")
    return Text(screen.safe(numbers.rate(cell.rate)))


def _change(row: NightRow, screen: Screen) -> Text:
    step = row.change
    if step is None:
        return Text(screen.safe(phrases.MISSING), "dim")
    style = "bold red" if step.value < 0 else "bold green"
    if not step.clear:
        style = ""
    return Text(screen.safe(phrases.points(step)), style)


def _failing_cells(
    heading: str, report: NightReport, cells: Sequence[FailingCell], more: int, screen: Screen
) -> Iterator[Text]:
    if not cells:
        return
    yield Text()
    yield Text(heading, "bold")
    for cell in cells:
        row = report.row(cell.eval, cell.subject)
        name = f"{one_line(cell.eval)} · {one_line(cell.subject)}"
        yield from paragraph(f"{name}  {row.tonight.passed} of {row.tonight.judged} passed", screen, "bold")
        for way in cell.ways:
            yield Text("  " + screen.safe(phrases.trials(report, way)), "dim")
            yield from paragraph(opening(way.reason, lines=_REASON_LINES), screen, indent=4)
        for command in phrases.commands(report, cell):
            yield Text(f"  $ {screen.safe(command)}", "cyan")
    if more:
        yield Text(screen.safe(phrases.more(more)), "dim")


def sparkline(cells: Iterable[NightCell], screen: Screen) -> Text:
    """`██◆▅▁–█`: one bar per night, with a mark before a night with a change. Without UTF-8, digits for tenths.

    A night without data has its own sign, never the lowest bar.
    """
    line = Text()
    for cell in cells:
        if marks := phrases.marks_of(cell):
            line.append(screen.safe(marks), "bold cyan")
        line.append(*_bar(cell, screen))
    return line


def _bar(cell: NightCell, screen: Screen) -> tuple[str, str]:
    """The bar of a night and its style."""
    if cell.rate is None:
        fancy, plain = _GAPS["absent" if cell.state == "no data" and not cell.voided else cell.state]
        return plain if screen.ascii else fancy, "dim" if cell.state != "no data" else "yellow"
    rate = cell.rate.value
    style = "red" if rate < 0.5 else "yellow"
    if rate == 1:
        style = "green"
    if screen.ascii:
        return str(min(9, int(rate * 10))), style
    return _BARS[round(rate * (len(_BARS) - 1))], style
