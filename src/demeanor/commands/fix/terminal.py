"""A fix for a person in front of a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from demeanor.commands.fix import phrases as fix_words
from demeanor.commands.fix.report import FixCell, FixOutcome, FixReport, FixRound
from demeanor.core.exit_code import ExitCode
from demeanor.core.text import one_line, opening
from demeanor.render import numbers as figures
from demeanor.render.table import Column, table, wrapped
from demeanor.render.terminal import Screen, paint

_STYLES = {ExitCode.ACCEPTED: "bold green", ExitCode.REJECTED: "bold red", ExitCode.REFUSED: "bold red"}


def fix_terminal(report: FixReport, screen: Screen | None = None) -> str:
    """The whole fix as text for `screen`."""
    screen = screen or Screen()
    return paint(_lines(report, screen), screen)


def _lines(report: FixReport, screen: Screen) -> Iterator[Text]:
    style = _STYLES.get(report.exit_code, "bold yellow")
    yield from wrapped(Text(screen.safe(fix_words.headline(report)), style), screen.width)
    yield from _labelled("evals", ", ".join(report.evals), screen)
    yield from _labelled("failed in", f"run {report.run}; mended was commit {report.commit[:12]}", screen)
    if not report.rounds:
        yield from _scores("before", report.before, screen)
    for one in report.rounds:
        yield from _round(one, screen)
    yield Text()
    money = figures.money(report.spent, report.unpriced)
    yield from _labelled("cost", f"{money}, {figures.duration(report.spent.seconds)} of agents' time", screen)
    yield from _labelled("kept in", report.folder, screen)
    for note in report.notes:
        yield from _labelled("note", one_line(note, width=400), screen)
    yield from _what_next(report, screen)


def _round(one: FixRound, screen: Screen) -> Iterator[Text]:
    yield Text()
    yield Text(f"Round {one.number}: {one.outcome.value}", "bold")
    yield from wrapped(Text(screen.safe(one_line(one.detail, width=600))), screen.width, indent=2)
    for refused in one.refusals:
        yield from wrapped(Text(screen.safe(f"refused: {fix_words.refusal(refused)}"), "red"), screen.width, indent=2)
    yield from _scores("the evals", one.cells, screen)
    yield from _scores("the guard suite", one.guard, screen)
    if one.root_cause:
        yield Text("root cause, in the fixer's words", "dim")
        yield from wrapped(Text(screen.safe(opening(one.root_cause, lines=12))), screen.width, indent=2)
    if one.patch:
        yield Text("the change", "dim")
        for line in opening(one.patch, lines=60).splitlines():
            yield Text(screen.safe(f"  {line}"), _line_style(line))


def _line_style(line: str) -> str:
    return {"+": "green", "-": "red"}.get(line[:1], "")


def _scores(title: str, cells: Sequence[FixCell], screen: Screen) -> Iterator[Text]:
    if not cells:
        return

    def column(name: str, texts: list[str], *, rank: int = 0) -> Column:
        return Column(title=name, cells=[Text(screen.safe(text)) for text in texts], align="right", rank=rank)

    names = [Text(screen.safe(one_line(cell.eval, width=300)), "red" if cell.worse else "") for cell in cells]
    who = [Text(screen.safe(one_line(cell.subject, width=300)), "dim") for cell in cells]
    columns = [
        Column(title=title, cells=names, comfort=24, least=8),
        Column(title="subject", cells=who, comfort=20, least=8),
        column("before", [fix_words.rate(cell.before) for cell in cells]),
        column("after", [fix_words.rate(cell.after) for cell in cells]),
        column("p", [fix_words.chance(cell) for cell in cells], rank=1),
    ]
    yield from table(columns, screen.width, ellipsis=screen.safe("…"))


def _what_next(report: FixReport, screen: Screen) -> Iterator[Text]:
    best = report.best
    if report.applied:
        yield from _labelled("applied", "the patch is in your tree and index; nothing is committed", screen)
    elif report.outcome is FixOutcome.FIXED and best is not None:
        yield from _labelled("to apply", f"git apply --index {best.patch_file}", screen)


def _labelled(label: str, text: str, screen: Screen) -> Iterator[Text]:
    lead = f"{label:<10}"
    for index, line in enumerate(wrapped(Text(screen.safe(text)), screen.width, indent=len(lead))):
        yield Text.assemble((lead, "dim"), line[len(lead) :]) if index == 0 else line
