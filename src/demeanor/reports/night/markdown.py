"""The night report as markdown, for the summary of a CI job.

For each subject: the total pass rate, and one row per eval with its rate in this run and in each of the last nights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from demeanor.core.text.wording import one_line, opening
from demeanor.render import code_block, fit, html_code, inline_code, numbers, prose, table_row
from demeanor.reports.night import phrases
from demeanor.reports.night.digest import digest, verdict
from demeanor.reports.night.report import (
    BatchNights,
    FailingCell,
    NightCell,
    NightReport,
    NightRow,
    NightTotal,
    SubjectNights,
)
from demeanor.reports.run import LAYERS, POLICIES

_SIGNS = {"reject": "❌", "undecided": "❔", "accept": "✅", "skipped": "⏭️"}
_WORDS = {"○", "·"}
"""Signs of the terminal report that are words here."""

_REASON_LINES = 20
_REMEDY = "parts: `demeanor report --format json` has them all."
_MAX_BYTES = 900_000


def night_markdown(report: NightReport, *, most_bytes: int = _MAX_BYTES) -> str:
    """The report as markdown of at most about `most_bytes` bytes."""
    parts = [f"### {phrases.title(report)}", f"**{verdict(report)}**", prose(phrases.origin(report))]
    layers = phrases.layers(report)
    parts += [f"{layers[0].upper()}{layers[1:]}."] if layers else []
    parts += _digest(report)
    parts += ["\n".join(_batch(report, report.batch))] if report.batch is not None else []
    tables = ["\n".join(_subject(report, nights)) for nights in report.subjects]
    details = [*_failing_cells("Failed", report, report.failures, report.more_failures)]
    details += _failing_cells("Void: run, but not judged", report, report.voids, report.more_voids)
    details += _changes(report)
    details.append(_footer(report))
    return "\n\n".join([*parts, *fit([*tables, *details], most_bytes, remedy=_REMEDY)]) + "\n"


def _digest(report: NightReport) -> Iterator[str]:
    for section in digest(report):
        lines = [f"#### {section.title}\n"]
        for item in section.items:
            lines.append(f"- {prose(item.text)}")
            lines += [f"  - {_code(command)}" for command in item.commands]
        lines += [f"- … and {section.more} more"] if section.more else []
        yield "\n".join(lines)


def _batch(report: NightReport, batch: BatchNights) -> Iterator[str]:
    yield f"#### {phrases.batch(report)}\n"
    change = phrases.compared(batch)
    yield f"**Total pass rate: {phrases.total(batch)}**" + (f" ({change})" if change else "")
    if earlier := _nights(report):
        yield "\n" + table_row(["", *earlier, _tonight(report)])
        yield table_row([":--", *[":-:"] * (len(earlier) + 1)])
        yield table_row(["**Total pass rate**", *_rates(batch.totals)])


def _nights(report: NightReport) -> list[str]:
    """The headings of the nights before this one."""
    return [_code(phrases.column(night, report)) for night in report.nights[:-1]]


def _tonight(report: NightReport) -> str:
    return "Tonight [95 %]" if report.run.kind == "nightly" else "This run [95 %]"


def _rates(totals: Sequence[NightTotal]) -> list[str]:
    """The totals of the nights; the last with its interval."""
    *earlier, now = totals
    shown = [f"**{numbers.percent(total.rate.value)}**" if total.rate else phrases.MISSING for total in earlier]
    return [*shown, f"**{numbers.rate(now.rate)}**" if now.rate else "no data"]


def _subject(report: NightReport, nights: SubjectNights) -> Iterator[str]:
    yield f"#### {_code(nights.subject)}\n"
    change = phrases.compared(nights)
    yield f"**Total pass rate: {phrases.total(nights)}**" + (f" ({change})" if change else "") + "  "
    if known_bad := phrases.known_bad(nights.totals[-1]):
        yield f"Known to fail: {known_bad}  "
    yield f"{phrases.counts(nights)} · {phrases.used(nights.totals[-1])}\n"
    earlier = _nights(report)
    tonight = _tonight(report)
    tasks = phrases.has_tasks(nights.rows)
    head = [
        "",
        "Eval",
        "Policy",
        *(["Layer"] if tasks else []),
        *earlier,
        tonight,
    ]
    head += ["Change", "Together"] if earlier else []
    head += ["Void", "Time", "Tokens", "Cost"]
    yield table_row(head)
    left = 4 if tasks else 3
    yield table_row([":-:", *[":--"] * (left - 1), *([":-:"] * (len(head) - left))])
    yield table_row(_overall(nights, bool(earlier), tasks))
    for row in nights.rows:
        yield table_row(_cells(row, bool(earlier), tasks))


def _overall(nights: SubjectNights, history: bool, tasks: bool) -> list[str]:
    now = nights.totals[-1]
    spent = now.spent
    return [
        "",
        "**Total pass rate**",
        "",
        *([""] if tasks else []),
        *_rates(nights.totals),
        *([phrases.points_with_interval(nights.change), ""] if history else []),
        str(now.voided or ""),
        numbers.duration(spent.seconds) if now.evals else "",
        numbers.tokens(spent, now.uncounted) if now.evals else "",
        numbers.money(spent, now.unpriced) if now.evals else "",
    ]


def _cells(row: NightRow, history: bool, tasks: bool) -> list[str]:
    *earlier, now = row.cells
    answer = "absent" if row.decision is None else row.decision.answer
    tonight = numbers.rate(now.rate) if now.rate else phrases.state(now)
    return [
        "★" if row.decision is not None and row.decision.news else _SIGNS.get(answer, phrases.MISSING),
        _code(row.eval),
        POLICIES[row.policy] + (f" ({phrases.EXPECTED_FAIL})" if phrases.status(row) == phrases.EXPECTED_FAIL else ""),
        *([f"{row.layer} {LAYERS[row.layer]}"] if tasks else []),
        *(_cell(cell) for cell in earlier),
        _marks(now) + tonight,
        *([phrases.points_with_interval(row.change), phrases.together(row)] if history else []),
        str(now.voided or ""),
        *phrases.spending(row).values(),
    ]


def _cell(cell: NightCell) -> str:
    shown = numbers.percent(cell.rate.value) if cell.rate else phrases.state(cell)
    return _marks(cell) + shown + (f" ({cell.voided}○)" if cell.rate and cell.voided else "")


def _marks(cell: NightCell) -> str:
    marks = phrases.marks_of(cell)
    return marks + " " if marks else ""


def _failing_cells(heading: str, report: NightReport, cells: Sequence[FailingCell], more: int) -> Iterator[str]:
    for index, cell in enumerate(cells):
        row = report.row(cell.eval, cell.subject)
        title = f"### {heading}\n\n" if index == 0 else ""
        lines = [
            f"<details><summary>{html_code(cell.eval)} · {html_code(cell.subject)}: "
            f"{row.tonight.passed} of {row.tonight.judged} passed</summary>\n"
        ]
        for way in cell.ways:
            calls = [f"calls: {one_line(way.chain, width=400)}"] if way.chain else []
            lines.append(f"{phrases.trials(report, way).capitalize()}:\n")
            lines.append(code_block("\n".join([opening(way.reason, lines=_REASON_LINES), *calls])) + "\n")
        lines.append(code_block("\n".join(phrases.commands(report, cell))) + "\n")
        yield title + "\n".join([*lines, "</details>"])
    if more:
        yield phrases.more(more)


def _changes(report: NightReport) -> Iterator[str]:
    lines = [f"- {mark.strip()} {prose(text)}" for mark, text in phrases.changes(report)]
    if lines:
        yield "### What changed\n\n" + "\n".join(lines)


def _footer(report: NightReport) -> str:
    signs = [f"{mark} {phrases.LEGEND[mark]}" for mark in phrases.used_marks(report) if mark not in _WORDS]
    mixed = any(row.together.mixed for subject in report.subjects for row in subject.rows)
    since = "◇ or change of the model" + (", also across ◆" if mixed else "")
    lines = [
        "Rates are of judged trials, with the 95 % Wilson interval; voids don't count. *Change* is in percentage "
        "points since the last night with data. *Together* combines the shown nights since the last "
        f"{since}."
    ]
    if alarms := phrases.false_alarms(report):
        lines.append(f"{alarms[0].upper()}{alarms[1:]}.")
    lines += [" · ".join(signs)] if signs else []
    lines += [f"Note: {prose(note)}" for note in report.notes]
    return "\n\n".join(lines)


def _code(text: str) -> str:
    return inline_code(text, width=300)
