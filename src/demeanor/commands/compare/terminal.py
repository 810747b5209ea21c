"""A comparison for a person in front of a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from demeanor.commands.compare import phrases as compare_words
from demeanor.commands.compare.report import CompareReport
from demeanor.commands.compare.values import CompareOutcome
from demeanor.core.exit_code import ExitCode
from demeanor.core.percent import rate
from demeanor.core.text import one_line
from demeanor.render.table import Column, table, wrapped
from demeanor.render.terminal import Screen, paint

_VISIBLE = "visible drop"
_STYLES = {
    CompareOutcome.REGRESSED: "bold red",
    CompareOutcome.IMPROVED: "bold green",
    CompareOutcome.NO_EVIDENCE: "",
    CompareOutcome.UNDERPOWERED: "yellow",
}


def compare_terminal(report: CompareReport, screen: Screen | None = None) -> str:
    """The whole comparison as text for `screen`."""
    screen = screen or Screen()
    return paint(_lines(report, screen), screen)


def _lines(report: CompareReport, screen: Screen) -> Iterator[Text]:
    style = {ExitCode.ACCEPTED: "bold green", ExitCode.REJECTED: "bold red"}.get(report.exit_code, "bold yellow")
    yield from wrapped(Text(compare_words.headline(report), style), screen.width)
    for label, side in (("base", report.base), ("new", report.new)):
        yield from _labelled(label, compare_words.side(side), screen)
    lines = table(list(_columns(report, screen)), screen.width, ellipsis=screen.safe("…"))
    if report.comparison.evals:
        yield Text()
        yield from lines
        yield Text()
        for label, text in compare_words.shifts(report):
            yield from _labelled(label, text, screen)
    if report.comparison.incomparable:
        yield Text()
        yield Text("Not compared", "bold")
        for name, why in report.comparison.incomparable:
            yield from wrapped(Text(screen.safe(f"{one_line(name)}: {one_line(why, width=300)}")), screen.width)
    yield Text()
    level = rate(report.comparison.level)
    told = f"regressed and improved: at most {level} of them by chance (Boschloo, Benjamini-Hochberg)"
    yield from wrapped(Text(told, "dim"), screen.width)
    if _VISIBLE in lines[0].plain:
        told = f"{_VISIBLE}: the smallest that so many trials show four times out of five"
        yield from wrapped(Text(told, "dim"), screen.width)
    notes = dict.fromkeys((*report.notes, *(f"{e.eval}: {note}" for e in report.comparison.evals for note in e.notes)))
    for note in notes:
        yield from _labelled("note", one_line(note, width=400), screen)


def _labelled(label: str, text: str, screen: Screen) -> Iterator[Text]:
    lead = f"{label:<10}"
    for index, line in enumerate(wrapped(Text(screen.safe(text)), screen.width, indent=len(lead))):
        yield Text.assemble((lead, "dim"), line[len(lead) :]) if index == 0 else line


def _columns(report: CompareReport, screen: Screen) -> Iterator[Column]:
    evals = report.comparison.evals

    def figure(title: str, cells: list[str], *, rank: int = 0) -> Column:
        return Column(title=title, cells=[Text(screen.safe(cell)) for cell in cells], align="right", rank=rank)

    yield Column(title="", cells=[Text(one.outcome.value, _STYLES[one.outcome]) for one in evals])
    names = [Text(screen.safe(one_line(one.eval, width=300))) for one in evals]
    yield Column(title="eval", cells=names, comfort=24, least=8)
    if len({one.subject for one in evals}) > 1:
        who = [Text(screen.safe(one_line(one.subject, width=300)), "dim") for one in evals]
        yield Column(title="subject", cells=who, comfort=20, least=8)
    yield figure("base", [compare_words.score(one.base) for one in evals])
    yield figure("new", [compare_words.score(one.new) for one in evals])
    yield figure("p", [compare_words.p_value(one.p_value) for one in evals], rank=2)
    yield figure("adjusted", [compare_words.p_value(one.adjusted) for one in evals], rank=1)
    yield figure(_VISIBLE, [compare_words.drop(one.detectable_drop) for one in evals], rank=3)
