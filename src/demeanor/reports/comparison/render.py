"""A comparison for the terminal and as markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.text import Text

from demeanor.core.text.percent import rate
from demeanor.core.text.wording import count, one_line
from demeanor.core.values.evidence import Spent
from demeanor.decide.comparison import CompareOutcome, EvalComparison, Shift
from demeanor.render import (
    Column,
    Screen,
    exit_style,
    labelled,
    markdown,
    money,
    p_value,
    paint,
    paragraph,
    percent,
    table,
    text_column,
)
from demeanor.reports.comparison.phrases import interval, score
from demeanor.reports.comparison.report import CompareReport, SideNote
from demeanor.reports.run import POLICIES, policy_word

_DETECTABLE = "detectable"
_STYLES = {
    CompareOutcome.REGRESSED: "bold red",
    CompareOutcome.SUSPICIOUS: "bold yellow",
    CompareOutcome.IMPROVED: "bold green",
    CompareOutcome.NO_EVIDENCE: "",
    CompareOutcome.UNDERPOWERED: "yellow",
}


def compare_terminal(report: CompareReport, screen: Screen | None = None) -> str:
    """The comparison as text for `screen`."""
    screen = screen or Screen()
    return paint(_terminal(report, screen), screen)


def compare_markdown(report: CompareReport) -> str:
    """The comparison as markdown, for the summary of a CI job or a comment."""
    return "\n".join(_markdown(report)) + "\n"


def all_notes(report: CompareReport) -> list[str]:
    """The notes of the comparison and of its evals; what is true of several evals once."""
    evals_by_note: dict[str, list[str]] = {}
    for eval_ in report.comparison.evals:
        for note in eval_.notes:
            evals_by_note.setdefault(note, []).append(eval_.eval)
    return [*report.notes, *(f"{', '.join(dict.fromkeys(evals))}: {note}" for note, evals in evals_by_note.items())]


def _side(side: SideNote) -> str:
    """`commit main (0123456789ab), 1 run`."""
    commit = f" ({side.commit[:12]})" if side.commit else ""
    return f"{side.kind} {side.name}{commit}, {count(len(side.runs), 'run')}"


def _again(cell: EvalComparison) -> str:
    """`20/20 → 11/20`: the second look; empty if there was none."""
    return f"{score(cell.again[0])} → {score(cell.again[1])}" if cell.again else ""


def _drop(value: float | None) -> str:
    """The smallest detectable drop, in percentage points."""
    return "none" if value is None else f"{value * 100:.0f} pts"


def _shifts(report: CompareReport) -> Iterator[tuple[str, str]]:
    """The differences of the mean pass rate and of the usage."""
    comparison = report.comparison
    if comparison.suite is not None:
        yield "pass rate", _points(comparison.suite)
        yield "margin", f"a drop of less than {comparison.margin * 100:g} points is tolerated: margin in [statistics]"
    if comparison.known_bad is not None:
        yield "known bad", f"{_points(comparison.known_bad)} USUALLY_FAILS, not part of the pass rate"
    rows: tuple[tuple[str, Shift | None, Callable[[float], str]], ...] = (
        ("cost", comparison.cost_usd, _money),
        ("tokens", comparison.tokens, lambda value: f"{value:,.0f}"),
        ("turns", comparison.turns, lambda value: f"{value:.1f}"),
        ("time", comparison.seconds, lambda value: f"{value:.1f} s"),
    )
    for label, shift, shown in rows:
        if shift is None:
            yield label, "not known for both sides"
        else:
            yield label, f"{shown(shift.base)} → {shown(shift.new)} per trial{_interval(shift, shown)}"


def _points(shift: Shift) -> str:
    change = f"{shift.value * 100:+.1f} points{interval(shift)}"
    rates = f"{percent(shift.base)} → {percent(shift.new)}"
    return f"{rates}, {change}, mean over {count(shift.evals, 'eval')}"


def _interval(shift: Shift, shown: Callable[[float], str]) -> str:
    if shift.low is None or shift.high is None:
        return ""
    zero = shown(0.0)
    low, high = (
        f"{'-' if end < 0 and shown(-end) != zero else '+'}{shown(abs(end))}" for end in (shift.low, shift.high)
    )
    return f", difference [{low} to {high}]"


def _money(value: float) -> str:
    return money(Spent(cost_usd=value))


def _terminal(report: CompareReport, screen: Screen) -> Iterator[Text]:
    yield from paragraph(report.summary, screen, exit_style(report.exit_code))
    for label, side in (("base", report.base), ("new", report.new)):
        yield from _labelled(label, _side(side), screen)
    lines = table(_columns(report, screen), screen)
    if report.comparison.evals:
        yield Text()
        yield from lines
        yield Text()
        for label, text in _shifts(report):
            yield from _labelled(label, text, screen)
    if report.comparison.incomparable:
        yield Text()
        yield Text("Not compared", "bold")
        for name, why in report.comparison.incomparable:
            yield from paragraph(f"{one_line(name, width=300)}: {one_line(why, width=300)}", screen)
    yield Text()
    level = rate(report.comparison.level)
    note = f"at most {level} of the regressed and improved together are false alarms (Boschloo, Benjamini-Hochberg)"
    yield from paragraph(note, screen, "dim")
    if any(cell.again for cell in report.comparison.evals):
        note = "again: fresh trials of what looked worse at first; p, adjusted and the outcome are of these trials"
        yield from paragraph(note, screen, "dim")
    if _DETECTABLE in lines[0].plain:
        note = f"{_DETECTABLE}: the smallest drop that these trials detect four times out of five"
        yield from paragraph(note, screen, "dim")
    for note in all_notes(report):
        yield from _labelled("note", one_line(note, width=400), screen)


def _labelled(label: str, text: str, screen: Screen) -> list[Text]:
    return labelled(f"{label:<10}", text, screen)


def _columns(report: CompareReport, screen: Screen) -> Iterator[Column]:
    evals = report.comparison.evals
    yield Column(title="", cells=[Text(eval_.outcome.value, _STYLES[eval_.outcome]) for eval_ in evals])
    yield text_column("eval", [one_line(eval_.eval, width=300) for eval_ in evals], screen, comfort=24, least=8)
    if len({eval_.subject for eval_ in evals}) > 1:
        subjects = [one_line(eval_.subject, width=300) for eval_ in evals]
        yield text_column("subject", subjects, screen, "dim", comfort=20, least=8)
    yield text_column("policy", [policy_word(eval_.policy, screen.width) for eval_ in evals], screen, rank=4)
    yield text_column("base", [score(eval_.base) for eval_ in evals], screen, align="right")
    yield text_column("new", [score(eval_.new) for eval_ in evals], screen, align="right")
    if any(eval_.again for eval_ in evals):
        yield text_column("again", [_again(eval_) for eval_ in evals], screen, align="right")
    yield text_column("p", [p_value(eval_.p_value) for eval_ in evals], screen, align="right", rank=2)
    yield text_column("adjusted", [p_value(eval_.adjusted) for eval_ in evals], screen, align="right", rank=1)
    yield text_column(_DETECTABLE, [_drop(eval_.detectable_drop) for eval_ in evals], screen, align="right", rank=3)


def _markdown(report: CompareReport) -> Iterator[str]:
    yield markdown.headline(report.summary, report.exit_code) + "\n"
    yield f"- base: {_code(_side(report.base))}"
    yield f"- new: {_code(_side(report.new))}\n"
    yield "| Outcome | Eval | Policy | Subject | Base | New | Again | p | adjusted | detectable drop |"
    yield "| --- | --- | --- | --- | --: | --: | --: | --: | --: | --: |"
    for eval_ in report.comparison.evals:
        cells = [
            eval_.outcome.value,
            _code(eval_.eval),
            POLICIES[eval_.policy],
            _code(eval_.subject),
            score(eval_.base),
            score(eval_.new),
            _again(eval_),
            p_value(eval_.p_value).replace("<", "&lt;"),
            p_value(eval_.adjusted).replace("<", "&lt;"),
            _drop(eval_.detectable_drop),
        ]
        yield markdown.table_row(cells)
    yield ""
    for label, text in _shifts(report):
        yield f"- {label}: {markdown.prose(text, width=400)}"
    for name, why in report.comparison.incomparable:
        yield f"- not compared: {_code(name)}: {markdown.prose(why, width=400)}"
    for note in all_notes(report):
        yield f"- note: {markdown.prose(note, width=400)}"


def _code(text: str) -> str:
    return markdown.inline_code(text, width=400)
