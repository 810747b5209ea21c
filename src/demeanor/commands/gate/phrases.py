"""The words that all formats of a gate's report share."""

from __future__ import annotations

from demeanor.commands.gate.report import GateReport, GateRow
from demeanor.core.error_rates import ErrorRates
from demeanor.core.exit_code import ExitCode
from demeanor.core.percent import rate, share
from demeanor.core.text import count
from demeanor.runner.baselines import Baseline

_SHOWN = (0.95, 0.8, 0.5)


def headline(report: GateReport) -> str:
    """May it merge, in one sentence."""
    ran = len(report.rows) - len(report.answered("skipped"))
    rejected, open_ = len(report.answered("reject")), len(report.answered("undecided"))
    if report.exit_code is ExitCode.INTERRUPTED:
        return "Interrupted: the gate has no answer"
    if report.exit_code is ExitCode.REJECTED:
        more = f", {open_} without an answer" if open_ else ""
        return f"Must not merge: {rejected} of {count(ran, 'cell')} rejected{more}"
    if report.exit_code is ExitCode.ACCEPTED:
        return f"May merge: {'the only cell is' if ran == 1 else f'all {ran} cells are'} accepted"
    if ran == 0:
        return "Undecided: nothing could be tried"
    return f"Undecided: {open_} of {count(ran, 'cell')} without an answer"


def p_value(value: float | None) -> str:
    """`0.034`, `<0.001`; empty where it was not asked."""
    if value is None:
        return ""
    return "<0.001" if value < 0.001 else f"{value:.2g}"


def nights(past: Baseline | None) -> str:
    """`57/60 in 20 nights`."""
    return "none" if past is None else f"{past.passed}/{past.judged} in {count(past.nights, 'night')}"


def score(row: GateRow) -> str:
    """`2/3`, with voids where there are any."""
    return f"{row.passed}/{row.judged}" + (f" +{row.voided} void" if row.voided else "")


def error_rates(found: ErrorRates) -> str:
    """How often a rule acts, at three true pass rates."""
    told = ", ".join(f"{share(row.chance)} at {rate(row.rate)}" for row in found.rows if row.rate in _SHOWN)
    return f"{found.rule}: {found.about}. It {found.action}s, by true pass rate: {told}"
