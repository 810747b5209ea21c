"""The words that all formats of a fix share."""

from __future__ import annotations

from collections.abc import Iterator

from demeanor.commands.fix.report import FixCell, FixOutcome, FixReport, FixRound, Score
from demeanor.commands.fix.violations import Refusal
from demeanor.core.text import count, one_line, opening
from demeanor.render import numbers as figures
from demeanor.render.markdown import code_block, inline_code
from demeanor.render.numbers import p_value

_HEADLINES = {
    FixOutcome.FIXED: "Fixed",
    FixOutcome.PASSES: "Nothing to fix",
    FixOutcome.NOT_FIXED: "Not fixed",
    FixOutcome.REGRESSED: "Not fixed: something else got worse",
    FixOutcome.REFUSED: "Refused",
    FixOutcome.UNDECIDED: "Undecided",
}


def title(report: FixReport) -> str:
    """What came of it, in our own words."""
    rounds = f" after {count(len(report.rounds), 'round')}" if report.rounds else ""
    return f"{_HEADLINES[report.outcome]}: {count(len(report.evals), 'eval')}{rounds}"


def headline(report: FixReport) -> str:
    """What came of it, and why, in one sentence. Partly hostile text."""
    best = report.best
    return f"{title(report)}; {one_line(best.detail, width=200)}" if best else title(report)


def rate(score: Score | None) -> str:
    """`3/3, 100 % [44–100]`; what was not tried is a dash."""
    if score is None:
        return "-"
    voids = f", {score.voided} void" if score.voided else ""
    return f"{score.passed}/{score.judged}, {figures.rate(score.rate)}{voids}"


def chance(cell: FixCell) -> str:
    """The p-value of a rise; empty where nothing was compared."""
    return p_value(cell.p_value) if cell.p_value is not None else ""


def refusal(one: Refusal) -> str:
    """`outside: src/agent.py: changed, not allowed`."""
    return ": ".join(part for part in (one.foul.value, one.path, one_line(one.detail, width=300)) if part)


def told_round(one: FixRound) -> str:
    """A round as the next one is told of it, in markdown."""
    return "\n".join(_told(one)) + "\n"


def _told(one: FixRound) -> Iterator[str]:
    yield f"### Round {one.number}: {one.outcome.value}\n"
    yield f"{inline_code(one.detail, width=600)}\n"
    for refused in one.refusals:
        yield f"- {inline_code(refusal(refused))}"
    for cell in (*one.cells, *(cell for cell in one.guard if cell.worse)):
        what = f"{inline_code(cell.eval)} on {inline_code(cell.subject)}"
        yield f"- {what}: {rate(cell.before)} → {rate(cell.after)}"
    if one.root_cause:
        yield f"\nIt was said that the cause is:\n\n{code_block(opening(one.root_cause, lines=20))}"
    if one.patch:
        yield f"\nIt was changed:\n\n{code_block(opening(one.patch, lines=200, width=400))}"
