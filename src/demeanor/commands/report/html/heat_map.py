"""The heat map of one subject: a row per eval, a column per night, with rates as numbers and colours."""

from __future__ import annotations

from collections.abc import Iterator

from demeanor.commands.report import phrases
from demeanor.commands.report.report import NightCell, NightReport, NightRow, NightStep, SubjectNights
from demeanor.commands.run.phrases import POLICIES
from demeanor.core.tally import Estimate
from demeanor.core.text import one_line
from demeanor.render import numbers
from demeanor.render.html.markup import Markup, breakable, el, joined
from demeanor.render.html.style import LEVELS
from demeanor.render.html.svg import sparkline

_AFTER = ("Void", "Time", "Tokens", "Cost")


def subject_section(report: NightReport, one: SubjectNights, number: int) -> Markup:
    """Heading, facts and heat map."""
    facts = [
        ("Total pass rate", phrases.total(one)),
        ("Change", phrases.compared(one) or "nothing to compare with"),
        ("Trials", phrases.counts(one)),
        ("Used", phrases.used(one.totals[-1])),
    ]
    listed = el("dl", *(joined(el("dt", name), el("dd", value)) for name, value in facts), class_="facts")
    heading = el("h2", el("code", one.subject), id=f"s{number}")
    return el("section", heading, listed, _heat_map(report, one, number), aria_labelledby=f"s{number}")


def _heat_map(report: NightReport, one: SubjectNights, number: int) -> Markup:
    history = len(report.nights) > 1
    caption = el("caption", "Pass rate of each eval in each night, in percent, oldest first")
    table = el(
        "table",
        caption,
        el("thead", el("tr", *_head(report, history))),
        el("tbody", _total_row(one, history), *(_row(row, history) for row in one.rows)),
    )
    label = f"Pass rates of {one.subject}, night by night"
    return el("div", table, class_="wide", tabindex=0, role="region", aria_label=label)


def _head(report: NightReport, history: bool) -> Iterator[Markup]:
    yield el("th", "Eval", scope="col")
    yield el("th", "Status", scope="col")
    for night in report.nights[:-1]:
        commit = f", commit {night.info.commit[:12]}" if night.info.commit else ""
        yield el("th", phrases.column(night, report), scope="col", title=f"run {night.name}{commit}")
    tonight = "Tonight" if report.run.kind == "nightly" else "This run"
    yield el("th", f"{tonight} [95\u00a0%]", scope="col", class_="now")
    if history:
        yield el("th", "Trend", scope="col")
        yield el("th", "Change, points", scope="col")
        yield el("th", "Nights together", scope="col")
    for title in _AFTER:
        yield el("th", title, scope="col")


def _total_row(one: SubjectNights, history: bool) -> Markup:
    *earlier, now = one.totals
    cells = [el("th", "Total pass rate", scope="row"), el("td", "")]
    for index, total in enumerate(one.totals):
        last = index == len(earlier)
        if total.rate is None:
            cells.append(el("td", phrases.MISSING, class_="none now" if last else "none"))
        else:
            shown = [f"{total.rate.value * 100:.0f}", *(_interval(total.rate) if last else ())]
            cells.append(el("td", *shown, class_=f"{_level(total.rate.value)} cell{' now' if last else ''}"))
    if history:
        cells.append(el("td", sparkline([total.rate for total in one.totals], [False] * len(one.totals))))
        cells += [_change(one.change), el("td", "")]
    cells += [
        el("td", str(now.voided or "")),
        el("td", numbers.duration(now.spent.seconds) if now.evals else ""),
        el("td", numbers.tokens(now.spent, now.uncounted) if now.evals else ""),
        el("td", numbers.money(now.spent, now.unpriced) if now.evals else ""),
    ]
    return el("tr", *cells, class_="total")


def _row(row: NightRow, history: bool) -> Markup:
    policy = el("span", POLICIES[row.policy], class_="small")
    name = el("span", breakable(one_line(row.eval, width=300)), class_="eval")
    cells = [el("th", name, " ", policy, scope="row"), _status(row)]
    cells += [_cell(cell) for cell in row.cells[:-1]]
    now = row.tonight
    cells.append(_cell(now, now=True))
    if history:
        changed = [bool(cell.marks or cell.mixed) for cell in row.cells]
        cells.append(el("td", sparkline([cell.rate for cell in row.cells], changed)))
        cells += [_change(row.change), _together(row)]
    cells.append(el("td", str(now.voided or "")))
    cells += [el("td", value) for value in phrases.spending(row).values()]
    return el("tr", *cells)


def _status(row: NightRow) -> Markup:
    word = phrases.status(row)
    if row.decision is None:
        return el("td", word, class_="none")
    kind = {"reject": "bad", "undecided": "bad"}.get(row.decision.answer)
    sign = {"reject": "✗ ", "undecided": "? "}.get(row.decision.answer, "★ " if row.decision.news else "")
    return el("td", sign + word, class_=f"status {kind}" if kind else "status", title=row.decision.reason)


def _cell(cell: NightCell, *, now: bool = False) -> Markup:
    suffix = " now" if now else ""
    if cell.rate is None:
        return el("td", phrases.state(cell), class_=f"none{suffix}")
    marks = ""
    if "subject" in cell.marks or cell.mixed:
        marks += phrases.SUBJECT_MARK
    if "eval" in cell.marks:
        marks += phrases.EVAL_MARK
    parts: list[str] = [el("span", marks, class_="m"), " "] if marks else []
    parts.append(f"{cell.rate.value * 100:.0f}")
    parts += _interval(cell.rate) if now else ()
    if cell.voided:
        parts += [" ", el("span", f"+{cell.voided} void", class_="small")]
    score = f"{cell.passed} of {cell.judged} passed" + (f", {cell.voided} void" if cell.voided else "")
    return el("td", *parts, class_=f"{_level(cell.rate.value)} cell{suffix}", title=score)


def _change(step: NightStep | None) -> Markup:
    kind = None if step is None or not step.clear else "bad" if step.value < 0 else "good"
    value, bracket, interval = phrases.points_with_interval(step).partition("[")
    return el("td", value, el("span", bracket + interval, class_="small"), class_=kind)


def _together(row: NightRow) -> Markup:
    value, bracket, rest = phrases.together(row).partition("[")
    return el("td", value, el("span", bracket + rest, class_="small"))


def _interval(rate: Estimate) -> tuple[str, Markup]:
    return " ", el("span", f"[{rate.low * 100:.0f}–{rate.high * 100:.0f}]", class_="small")


def _level(rate: float) -> str:
    return f"h{int(rate * LEVELS)}"
