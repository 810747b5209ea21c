"""A gate's report for a person in front of a terminal: may it merge, why not, and how sure is that?"""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from demeanor.commands.gate import phrases as gate_words
from demeanor.commands.gate.report import GateReport, GateRow
from demeanor.commands.run import phrases as words
from demeanor.commands.run.report import RunReport
from demeanor.commands.run.terminal import details
from demeanor.core.exit_code import ExitCode
from demeanor.core.text import one_line
from demeanor.render.marks import STYLES, sign
from demeanor.render.table import Column, table, wrapped
from demeanor.render.terminal import Screen, paint

_WORDS = {"accept": "accept", "reject": "REJECT", "undecided": "OPEN", "skipped": "skipped"}
_MOST = 30


def gate_terminal(report: GateReport, run: RunReport, screen: Screen | None = None) -> str:
    """The whole report as text for `screen`."""
    screen = screen or Screen()
    return paint(_lines(report, run, screen), screen)


def _lines(report: GateReport, run: RunReport, screen: Screen) -> Iterator[Text]:
    style = {ExitCode.ACCEPTED: "bold green", ExitCode.REJECTED: "bold red"}.get(report.exit_code, "bold yellow")
    yield from wrapped(Text(gate_words.headline(report), style), screen.width)
    yield Text()
    yield from table(list(_columns(report, screen)), screen.width, ellipsis=screen.safe("…"))
    open_rows = report.answered("undecided")
    if open_rows:
        yield Text()
        yield Text("Without an answer", "bold")
        for row in open_rows[:_MOST]:
            yield from _why(row, screen)
        if len(open_rows) > _MOST:
            yield Text(screen.safe(f"… and {len(open_rows) - _MOST} more, told in gate.json"), "dim")
    yield Text()
    yield Text("Error rates of the rules, for one eval with one subject", "bold")
    for found in report.characteristics:
        yield from wrapped(Text(screen.safe(gate_words.error_rates(found)), "dim"), screen.width)
    yield from wrapped(Text(screen.safe(f"more: demeanor power --rule {report.rule}"), "dim"), screen.width)
    yield from details(run, screen, resumable=False)


def _why(row: GateRow, screen: Screen) -> Iterator[Text]:
    name = screen.safe(f"{one_line(row.eval)} · {one_line(row.subject)}")
    yield from wrapped(Text.assemble(sign("undecided", screen), " ", (name, "bold")), screen.width)
    yield from wrapped(Text(screen.safe(one_line(row.decision.reason, width=400))), screen.width, indent=4)


def _columns(report: GateReport, screen: Screen) -> Iterator[Column]:
    rows = report.rows

    def plain(title: str, cells: list[str], *, rank: int = 0, right: bool = False, style: str = "") -> Column:
        shown = [Text(screen.safe(cell), style) for cell in cells]
        return Column(title=title, cells=shown, rank=rank, align="right" if right else "left")

    answers = [Text(_WORDS[row.decision.answer], STYLES[row.decision.answer]) for row in rows]
    names = [Text(screen.safe(one_line(row.eval, width=300))) for row in rows]
    yield Column(title="", cells=answers)
    yield Column(title="eval", cells=names, comfort=24, least=8)
    if len({row.subject for row in rows}) > 1:
        subjects = [Text(screen.safe(one_line(row.subject, width=300)), "dim") for row in rows]
        yield Column(title="subject", cells=subjects, comfort=20, least=8)
    yield plain("policy", [words.POLICIES[row.policy] for row in rows], rank=4, style="dim")
    if any(row.edit for row in rows):
        yield plain("change", [row.edit for row in rows], rank=3)
    yield plain("passed", ["" if row.decision.answer == "skipped" else gate_words.score(row) for row in rows])
    yield plain("history", [gate_words.nights(row.past) for row in rows], rank=2, style="dim")
    if any(row.p_value is not None for row in rows):
        yield plain("p", [gate_words.p_value(row.p_value) for row in rows], rank=1, right=True)
        yield plain("adjusted", [gate_words.p_value(row.adjusted) for row in rows], right=True)
    yield plain("rule", [row.decision.rule for row in rows], rank=5, style="dim")
