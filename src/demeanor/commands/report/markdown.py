"""The night report as markdown, for the summary of a CI job: the table that teams know, with what it lacked.

Per subject the total pass rate, then one row per eval with its rate in each of the last nights and in this one. Names,
and whatever else others wrote, stand in code, escaped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from demeanor.commands.report import phrases as night_words
from demeanor.commands.report.report import FailingCell, NightCell, NightReport, NightRow, SubjectNights
from demeanor.core.text import one_line, opening
from demeanor.render import numbers as figures
from demeanor.render.markdown import code_block, inline_code

_SIGNS = {"reject": "❌", "undecided": "❔", "accept": "✅", "skipped": "⏭️"}
_TOLD = {"○", "·"}
"""Signs of the terminal that are words here."""

_REASON_LINES = 20
_MOST_BYTES = 900_000


def night_markdown(report: NightReport, *, most_bytes: int = _MOST_BYTES) -> str:
    """The report as markdown of about `most_bytes` bytes at most."""
    parts = [f"### {night_words.title(report)}", _code(night_words.origin(report))]
    tables = ["\n".join(_subject(report, one)) for one in report.subjects]
    details = [*_troubles("Failed", report, report.failures, report.more_failures)]
    details += _troubles("Void: tried, but not judged", report, report.voids, report.more_voids)
    details += _changes(report)
    details.append(_footer(report))
    return "\n\n".join([*parts, *_fitting([*tables, *details], most_bytes)]) + "\n"


def _subject(report: NightReport, one: SubjectNights) -> Iterator[str]:
    yield f"#### {_code(one.subject)}\n"
    change = night_words.compared(one)
    yield f"**Total pass rate: {night_words.total(one)}**" + (f" ({change})" if change else "") + "  "
    yield f"{night_words.counts(one)} · {night_words.used(one.totals[-1])}\n"
    *earlier, _ = report.nights
    tonight = "Tonight [95 %]" if report.run.kind == "nightly" else "This run [95 %]"
    head = ["", "Eval", *(_code(night_words.column(night, report)) for night in earlier), tonight]
    head += ["Change", "Together"] if earlier else []
    head += ["Void", "Time", "Tokens", "Cost"]
    yield _row(head)
    yield _row([":-:", ":--", *([":-:"] * (len(head) - 2))])
    yield _row(_overall(one, bool(earlier)))
    for row in one.rows:
        yield _row(_cells(row, bool(earlier)))


def _overall(one: SubjectNights, history: bool) -> list[str]:
    *earlier, now = one.totals
    shown = [f"**{figures.percent(total.rate.value)}**" if total.rate else night_words.MISSING for total in earlier]
    tonight = f"**{figures.rate(now.rate)}**" if now.rate else "no data"
    spent = now.spent
    return [
        "",
        "**Total pass rate**",
        *shown,
        tonight,
        *([night_words.points_with_interval(one.change), ""] if history else []),
        str(now.voided or ""),
        figures.duration(spent.seconds) if now.evals else "",
        figures.tokens(spent, now.uncounted) if now.evals else "",
        figures.money(spent, now.unpriced) if now.evals else "",
    ]


def _cells(row: NightRow, history: bool) -> list[str]:
    *earlier, now = row.cells
    answer = "absent" if row.decision is None else row.decision.answer
    tonight = figures.rate(now.rate) if now.rate else night_words.state(now)
    return [
        "★" if row.decision is not None and row.decision.news else _SIGNS.get(answer, night_words.MISSING),
        _code(row.eval),
        *(_cell(cell) for cell in earlier),
        _marks(now) + tonight,
        *([night_words.points_with_interval(row.change), night_words.together(row)] if history else []),
        str(now.voided or ""),
        *night_words.spending(row).values(),
    ]


def _cell(cell: NightCell) -> str:
    shown = figures.percent(cell.rate.value) if cell.rate else night_words.state(cell)
    return _marks(cell) + shown + (f" ({cell.voided}○)" if cell.rate and cell.voided else "")


def _marks(cell: NightCell) -> str:
    subject = night_words.SUBJECT_MARK if "subject" in cell.marks or cell.mixed else ""
    found = subject + (night_words.EVAL_MARK if "eval" in cell.marks else "")
    return found + " " if found else ""


def _troubles(heading: str, report: NightReport, found: Sequence[FailingCell], more: int) -> Iterator[str]:
    for index, one in enumerate(found):
        row = report.row(one.eval, one.subject)
        title = f"### {heading}\n\n" if index == 0 else ""
        lines = [
            f"<details><summary>{_folded(one.eval)} · {_folded(one.subject)}: "
            f"{row.tonight.passed} of {row.tonight.judged} passed</summary>\n"
        ]
        for way in one.ways:
            calls = [f"calls: {one_line(way.chain, width=400)}"] if way.chain else []
            lines.append(f"{figures.trials(list(way.trials)).capitalize()}:\n")
            lines.append(code_block("\n".join([opening(way.reason, lines=_REASON_LINES), *calls])) + "\n")
        lines.append(code_block("\n".join(night_words.commands(report, one))) + "\n")
        yield title + "\n".join([*lines, "</details>"])
    if more:
        yield night_words.more(more)


def _folded(text: str) -> str:
    """Code within HTML, where markdown is not read."""
    return f"<code>{escape(one_line(text, width=300))}</code>"


def _changes(report: NightReport) -> Iterator[str]:
    lines = [f"- {mark.strip()} {_code(told)}" for mark, told in night_words.changes(report)]
    if lines:
        yield "### What changed\n\n" + "\n".join(lines)


def _footer(report: NightReport) -> str:
    signs = [f"{mark} {night_words.LEGEND[mark]}" for mark in night_words.used_marks(report) if mark not in _TOLD]
    lines = [
        "Rates are of judged trials, with Wilson's interval of 95 %; voids are in no rate. *Change* is in percentage "
        "points since the last night with data. *Together* are the shown nights since the last ◆ or ◇."
    ]
    lines += [" · ".join(signs)] if signs else []
    lines += [f"Note: {_code(note)}" for note in report.notes]
    return "\n\n".join(lines)


def _fitting(parts: Sequence[str], room: int) -> list[str]:
    kept: list[str] = []
    for index, part in enumerate(parts):
        room -= len(part.encode()) + 2
        if room < 0:
            return [*kept, f"… and {len(parts) - index} more parts: `demeanor report --format json` has them all."]
        kept.append(part)
    return kept


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    return inline_code(text, width=300)
