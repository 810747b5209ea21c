"""The words that all formats of a comparison share."""

from __future__ import annotations

from collections.abc import Iterator

from demeanor.commands.compare.report import CompareReport, SideNote
from demeanor.commands.compare.values import CompareOutcome, Counts, Shift
from demeanor.core.evidence import Spent
from demeanor.core.exit_code import ExitCode
from demeanor.core.text import count
from demeanor.render import numbers as figures

ORDER = (CompareOutcome.REGRESSED, CompareOutcome.IMPROVED, CompareOutcome.NO_EVIDENCE, CompareOutcome.UNDERPOWERED)


def headline(report: CompareReport) -> str:
    """Is it worse, in one sentence."""
    evals = report.comparison.evals
    if report.exit_code is ExitCode.UNDECIDED:
        return "Undecided: nothing can be compared"
    told = ", ".join(f"{report.counts[outcome]} {outcome}" for outcome in ORDER if report.counts[outcome])
    verdict = "Regressed" if report.exit_code is ExitCode.REJECTED else "No regression found"
    return f"{verdict}: {told} of {count(len(evals), 'cell')}"


def side(one: SideNote) -> str:
    """`commit main (0123456789ab), 1 run`."""
    commit = f" ({one.commit[:12]})" if one.commit else ""
    return f"{one.kind} {one.name}{commit}, {count(len(one.runs), 'run')}"


def score(counts: Counts) -> str:
    """`57/60`."""
    return f"{counts[0]}/{counts[1]}"


def p_value(value: float) -> str:
    """`0.034`, `<0.001`."""
    return "<0.001" if value < 0.001 else f"{value:.2g}"


def drop(value: float | None) -> str:
    """The smallest drop that could have been seen, in points."""
    return "none" if value is None else f"{value * 100:.0f} pts"


def shifts(report: CompareReport) -> Iterator[tuple[str, str]]:
    """The suite's difference, and what the change costs."""
    found = report.comparison
    if found.suite is not None:
        yield "pass rate", _points(found.suite)
    for label, shift, shown in (
        ("cost", found.cost_usd, _money),
        ("tokens", found.tokens, lambda value: f"{value:,.0f}"),
        ("turns", found.turns, lambda value: f"{value:.1f}"),
        ("time", found.seconds, lambda value: f"{value:.1f} s"),
    ):
        if shift is None:
            yield label, "not known on both sides"
        else:
            yield label, f"{shown(shift.base)} → {shown(shift.new)} per trial{_interval(shift, shown)}"


def _points(shift: Shift) -> str:
    change = f"{shift.value * 100:+.1f} points"
    if shift.low is not None and shift.high is not None:
        change += f" [{shift.low * 100:+.1f} to {shift.high * 100:+.1f}]"
    rates = f"{figures.percent(shift.base)} → {figures.percent(shift.new)}"
    return f"{rates}, {change}, mean of {count(shift.evals, 'eval')}, each with itself"


def _interval(shift: Shift, shown: object) -> str:
    if shift.low is None or shift.high is None or not callable(shown):
        return ""
    low, high = (f"{'-' if end < 0 else '+'}{shown(abs(end))}" for end in (shift.low, shift.high))
    return f", difference [{low} to {high}]"


def _money(value: float) -> str:
    return figures.money(Spent(cost_usd=value))
