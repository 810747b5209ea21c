"""A comparison as blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from demeanor.core.evidence import Spent
from demeanor.core.exit_code import ExitCode
from demeanor.core.percent import rate
from demeanor.core.text import all_of, count, one_line
from demeanor.decide.comparison import CompareOutcome, Counts, EvalComparison, Shift
from demeanor.render import blocks as b
from demeanor.render.numbers import money, p_value, percent
from demeanor.reports.comparison.report import CompareReport, SideNote
from demeanor.reports.run.phrases import policy_word

_DETECTABLE = "detectable"
_ORDER = (CompareOutcome.REGRESSED, CompareOutcome.IMPROVED, CompareOutcome.NO_EVIDENCE, CompareOutcome.UNDERPOWERED)
_STYLES = {
    CompareOutcome.REGRESSED: "bold red",
    CompareOutcome.IMPROVED: "bold green",
    CompareOutcome.NO_EVIDENCE: "",
    CompareOutcome.UNDERPOWERED: "yellow",
}


def blocks_of(report: CompareReport) -> Iterator[b.Block]:
    """The comparison for every format."""
    comparison = report.comparison
    yield b.Title(headline(report), report.exit_code)
    yield b.Fields([("base", _side(report.base)), ("new", _side(report.new))])
    if comparison.evals:
        yield b.GAP
        yield b.Table(list(_columns(comparison.evals)))
        yield b.GAP
        yield b.Fields(list(_shifts(report)))
    if comparison.incomparable:
        yield b.Heading(b.Words("Not compared"))
        pairs = [(one_line(name, width=300), one_line(why, width=300)) for name, why in comparison.incomparable]
        yield b.Listing([b.Item(f"{name}: {why}", inner=0) for name, why in pairs])
    yield b.GAP
    level = rate(comparison.level)
    note = f"at most {level} of the regressed and improved together are false alarms (Boschloo, Benjamini-Hochberg)"
    yield b.Sentence(b.Words(note), "dim")
    note = f"{_DETECTABLE}: the smallest drop that these trials detect four times out of five"
    yield b.Sentence(b.Words(note), "dim", about=_DETECTABLE)
    yield b.Fields([("note", one_line(note, width=400)) for note in all_notes(report)])


def _columns(cells: Sequence[EvalComparison]) -> Iterator[b.Column]:
    yield b.Column("outcome", [b.Span(b.Words(cell.outcome), _STYLES[cell.outcome]) for cell in cells], unnamed=True)
    yield b.Column("eval", [cell.eval for cell in cells], comfort=24, least=8)
    yield b.Column("subject", [cell.subject for cell in cells], "dim", comfort=20, least=8, varied=True)
    yield b.Column("policy", [policy_word(cell.policy) for cell in cells], rank=4)
    yield b.figures("base", [_score(cell.base) for cell in cells])
    yield b.figures("new", [_score(cell.new) for cell in cells])
    yield b.figures("p", [p_value(cell.p_value) for cell in cells], rank=2)
    yield b.figures("adjusted", [p_value(cell.adjusted) for cell in cells], rank=1)
    yield b.figures(_DETECTABLE, [_drop(cell.detectable_drop) for cell in cells], rank=3)


def headline(report: CompareReport) -> str:
    """The result in one sentence."""
    if not report.comparison.evals:
        return "Undecided: no eval can be compared"
    if report.exit_code is ExitCode.UNDECIDED:
        cells = sum(report.counts.values())
        few = "has too few trials" if cells == 1 else "have too few trials"
        drop = f"{report.comparison.concern * 100:.0f} points"
        return f"Can't tell: {all_of(cells, 'cell')} {few} to detect a drop of {drop}"
    verdict = "Regressed" if report.exit_code is ExitCode.REJECTED else "No regression found"
    found = [_outcomes(report.counts, "cell"), _outcomes(report.known_bad, "known failure")]
    return f"{verdict}: {'; '.join(part for part in found if part)}"


def all_notes(report: CompareReport) -> list[str]:
    """The notes of the comparison and of its evals; what is true of several evals once."""
    found: dict[str, list[str]] = {}
    for one in report.comparison.evals:
        for note in one.notes:
            found.setdefault(note, []).append(one.eval)
    return [*report.notes, *(f"{', '.join(dict.fromkeys(evals))}: {note}" for note, evals in found.items())]


def _outcomes(counts: Mapping[str, int], noun: str) -> str:
    """`1 regressed, 2 improved of 3 cells`; empty if there are none."""
    parts = ", ".join(f"{counts[outcome]} {outcome}" for outcome in _ORDER if counts[outcome])
    return f"{parts} of {count(sum(counts.values()), noun)}" if parts else ""


def _side(side: SideNote) -> str:
    """`commit main (0123456789ab), 1 run`."""
    commit = f" ({side.commit[:12]})" if side.commit else ""
    return f"{side.kind} {side.name}{commit}, {count(len(side.runs), 'run')}"


def _score(counts: Counts) -> str:
    """`57/60`."""
    return f"{counts[0]}/{counts[1]}"


def _drop(value: float | None) -> str:
    """The smallest detectable drop, in percentage points."""
    return "none" if value is None else f"{value * 100:.0f} pts"


def _shifts(report: CompareReport) -> Iterator[tuple[str, str]]:
    """The differences of the mean pass rate and of the usage."""
    found = report.comparison
    if found.suite is not None:
        yield "pass rate", _points(found.suite)
    if found.known_bad is not None:
        yield "known bad", f"{_points(found.known_bad)} USUALLY_FAILS, not part of the pass rate"
    rows: tuple[tuple[str, Shift | None, Callable[[float], str]], ...] = (
        ("cost", found.cost_usd, _money),
        ("tokens", found.tokens, lambda value: f"{value:,.0f}"),
        ("turns", found.turns, lambda value: f"{value:.1f}"),
        ("time", found.seconds, lambda value: f"{value:.1f} s"),
    )
    for label, shift, shown in rows:
        if shift is None:
            yield label, "not known for both sides"
        else:
            yield label, f"{shown(shift.base)} → {shown(shift.new)} per trial{_interval(shift, shown)}"


def _points(shift: Shift) -> str:
    change = f"{shift.value * 100:+.1f} points"
    if shift.low is not None and shift.high is not None:
        change += f" [{shift.low * 100:+.1f} to {shift.high * 100:+.1f}]"
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
