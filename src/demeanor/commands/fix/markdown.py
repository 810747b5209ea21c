"""A fix for a pull request or a CI job's summary; whatever others wrote stands in code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from demeanor.commands.fix import phrases as fix_words
from demeanor.commands.fix.report import FixCell, FixReport, FixRound
from demeanor.core.exit_code import ExitCode
from demeanor.render import numbers as figures
from demeanor.render.markdown import code_block, inline_code

_SIGNS = {ExitCode.ACCEPTED: "✅", ExitCode.REJECTED: "❌", ExitCode.REFUSED: "⛔"}


def fix_markdown(report: FixReport) -> str:
    """The fix as markdown."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: FixReport) -> Iterator[str]:
    yield f"## {_SIGNS.get(report.exit_code, '⚠️')} {fix_words.title(report)}\n"
    yield f"- evals: {', '.join(inline_code(name) for name in report.evals)}"
    yield f"- failed in run {inline_code(report.run)}; mended was commit {inline_code(report.commit[:12])}"
    yield f"- fixer: {inline_code(report.fixer)}, rule {inline_code(report.rule)}"
    yield f"- cost: {figures.money(report.spent, report.unpriced)}, {figures.duration(report.spent.seconds)} of agents"
    yield f"- patch applied: {'yes' if report.applied else 'no'}"
    for note in report.notes:
        yield f"- note: {inline_code(note, width=400)}"
    yield ""
    if not report.rounds:
        yield from _table(report.before)
    for one in report.rounds:
        yield from _round(one)


def _round(one: FixRound) -> Iterator[str]:
    yield f"### Round {one.number}: {one.outcome.value}\n"
    yield f"{inline_code(one.detail, width=600)}\n"
    for refused in one.refusals:
        yield f"- refused: {inline_code(fix_words.refusal(refused))}"
    if one.refusals:
        yield ""
    yield from _table(one.cells)
    if one.guard:
        yield "The guard suite:\n"
        yield from _table(one.guard)
    if one.root_cause:
        yield f"Root cause, in the fixer's words:\n\n{code_block(one.root_cause)}\n"
    if one.patch:
        yield f"The patch:\n\n{code_block(one.patch)}\n"


def _table(cells: Sequence[FixCell]) -> Iterator[str]:
    if not cells:
        return
    yield "| Eval | Subject | Before | After | p |"
    yield "| --- | --- | --: | --: | --: |"
    for cell in cells:
        names = f"{inline_code(cell.eval)} | {inline_code(cell.subject)}"
        chance = fix_words.chance(cell).replace("<", "&lt;")
        yield f"| {names} | {fix_words.rate(cell.before)} | {fix_words.rate(cell.after)} | {chance} |"
    yield ""
