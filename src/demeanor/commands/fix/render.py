"""The report of a fix as terminal text and as markdown, and one round as the brief of the next round shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from demeanor.commands.fix.report import FixCell, FixOutcome, FixReport, FixRound, Score
from demeanor.commands.fix.rules import Refusal
from demeanor.core.text.wording import count, one_line, opening
from demeanor.core.values.exit_code import ExitCode
from demeanor.render import (
    Column,
    Screen,
    code_block,
    inline_code,
    labelled,
    numbers as figures,
    p_value,
    paint,
    paragraph,
    table,
    text_column,
)

_TITLES = {
    FixOutcome.FIXED: "Fixed",
    FixOutcome.PASSES: "Nothing to fix",
    FixOutcome.NOT_FIXED: "Not fixed",
    FixOutcome.REGRESSED: "Not fixed: something else got worse",
    FixOutcome.REFUSED: "Refused",
    FixOutcome.UNDECIDED: "Undecided",
}
_STYLES = {ExitCode.ACCEPTED: "bold green", ExitCode.REJECTED: "bold red", ExitCode.REFUSED: "bold red"}
_SIGNS = {ExitCode.ACCEPTED: "✅", ExitCode.REJECTED: "❌", ExitCode.REFUSED: "⛔"}


def _title(report: FixReport) -> str:
    rounds = f" after {count(len(report.rounds), 'round')}" if report.rounds else ""
    return f"{_TITLES[report.outcome]}: {count(len(report.evals), 'eval')}{rounds}"


def _rate(score: Score | None) -> str:
    """Format a score as `3/3, 100 % [44–100]`, or as a dash when there is none."""
    if score is None:
        return "-"
    voids = f", {score.voided} void" if score.voided else ""
    return f"{score.passed}/{score.judged}, {figures.rate(score.rate)}{voids}"


def _refusal(refusal: Refusal) -> str:
    """Format a refusal as `outside: src/agent.py: changed, but it is not in the allowed paths`."""
    return ": ".join(part for part in (refusal.foul.value, refusal.path, one_line(refusal.detail, width=300)) if part)


def fix_terminal(report: FixReport, screen: Screen | None = None) -> str:
    """Return the report as text for `screen`."""
    screen = screen or Screen()
    return paint(_lines(report, screen), screen)


def _lines(report: FixReport, screen: Screen) -> Iterator[Text]:
    best = report.best
    headline = f"{_title(report)}; {one_line(best.detail, width=200)}" if best else _title(report)
    style = _STYLES.get(report.exit_code, "bold yellow")
    yield from paragraph(headline, screen, style)
    yield from _labelled("evals", ", ".join(report.evals), screen)
    yield from _labelled("results", f"of run {report.run}; the fix is for commit {report.commit[:12]}", screen)
    if not report.rounds:
        yield from _scores("before", report.before, screen)
    for round_ in report.rounds:
        yield from _round(round_, screen)
    yield Text()
    money = figures.money(report.spent, report.unpriced)
    yield from _labelled("cost", f"{money}, {figures.duration(report.spent.seconds)} of agent time", screen)
    yield from _labelled("stored in", report.folder, screen)
    for note in report.notes:
        yield from _labelled("note", one_line(note, width=400), screen)
    if report.applied:
        yield from _labelled("applied", "the patch is in your tree and index; nothing is committed", screen)
    elif report.outcome is FixOutcome.FIXED and best is not None:
        yield from _labelled("to apply", f"git apply --index {best.patch_file}", screen)


def _round(round_: FixRound, screen: Screen) -> Iterator[Text]:
    yield Text()
    yield Text(f"Round {round_.number}: {round_.outcome.value}", "bold")
    yield from paragraph(one_line(round_.detail, width=600), screen, indent=2)
    for refused in round_.refusals:
        yield from paragraph(f"refused: {_refusal(refused)}", screen, "red", indent=2)
    if round_.wire is not None:
        if not round_.wire.dropped:  # if it was, this is the result of the round
            on_wire = f"on the wire, before it was built: {one_line(round_.wire.detail, width=600)}"
            yield from paragraph(on_wire, screen, indent=2)
        yield from _scores("on the wire", round_.wire.cells, screen)
    yield from _scores("the evals", round_.cells, screen)
    yield from _scores("the guard suite", round_.guard, screen)
    if round_.root_cause:
        yield Text("root cause, according to the fixer", "dim")
        yield from paragraph(opening(round_.root_cause, lines=12), screen, indent=2)
    if round_.patch:
        yield Text("the change", "dim")
        for line in opening(round_.patch, lines=60).splitlines():
            yield Text(screen.safe(f"  {line}"), {"+": "green", "-": "red"}.get(line[:1], ""))


def _scores(title: str, cells: Sequence[FixCell], screen: Screen) -> Iterator[Text]:
    if not cells:
        return
    names = [Text(screen.safe(one_line(cell.eval, width=300)), "red" if cell.worse else "") for cell in cells]
    subjects = [one_line(cell.subject, width=300) for cell in cells]
    columns = [
        Column(title=title, cells=names, comfort=24, least=8),
        text_column("subject", subjects, screen, "dim", comfort=20, least=8),
        text_column("before", [_rate(cell.before) for cell in cells], screen, align="right"),
        text_column("after", [_rate(cell.after) for cell in cells], screen, align="right"),
        text_column("p", [p_value(cell.p_value) for cell in cells], screen, align="right", rank=1),
    ]
    yield from table(columns, screen)


def _labelled(label: str, text: str, screen: Screen) -> list[Text]:
    return labelled(f"{label:<10}", text, screen)


def fix_markdown(report: FixReport) -> str:
    """Return the report as markdown, for a pull request or a CI summary. Text from others is put into code."""
    return "\n".join(_markdown_lines(report)) + "\n"


def _markdown_lines(report: FixReport) -> Iterator[str]:
    yield f"## {_SIGNS.get(report.exit_code, '⚠️')} {_title(report)}\n"
    yield f"- evals: {', '.join(inline_code(name) for name in report.evals)}"
    yield f"- results of run {inline_code(report.run)}; the fix is for commit {inline_code(report.commit[:12])}"
    yield f"- fixer: {inline_code(report.fixer)}, rule {inline_code(report.rule)}"
    money = figures.money(report.spent, report.unpriced)
    yield f"- cost: {money}, {figures.duration(report.spent.seconds)} of agent time"
    yield f"- patch applied: {'yes' if report.applied else 'no'}"
    for note in report.notes:
        yield f"- note: {inline_code(note, width=400)}"
    yield ""
    if not report.rounds:
        yield from _markdown_table(report.before)
    for round_ in report.rounds:
        yield from _markdown_round(round_)


def _markdown_round(round_: FixRound) -> Iterator[str]:
    yield f"### Round {round_.number}: {round_.outcome.value}\n"
    yield f"{inline_code(round_.detail, width=600)}\n"
    for refused in round_.refusals:
        yield f"- refused: {inline_code(_refusal(refused))}"
    if round_.refusals:
        yield ""
    if round_.wire is not None:
        result = "" if round_.wire.dropped else f" {inline_code(round_.wire.detail, width=600)}"
        yield f"On the wire, before it was built:{result}\n"
        yield from _markdown_table(round_.wire.cells)
    yield from _markdown_table(round_.cells)
    if round_.guard:
        yield "The guard suite:\n"
        yield from _markdown_table(round_.guard)
    if round_.root_cause:
        yield f"Root cause, according to the fixer:\n\n{code_block(round_.root_cause)}\n"
    if round_.patch:
        yield f"The patch:\n\n{code_block(round_.patch)}\n"


def _markdown_table(cells: Sequence[FixCell]) -> Iterator[str]:
    if not cells:
        return
    yield "| Eval | Subject | Before | After | p |"
    yield "| --- | --- | --: | --: | --: |"
    for cell in cells:
        names = f"{inline_code(cell.eval)} | {inline_code(cell.subject)}"
        chance = p_value(cell.p_value).replace("<", "&lt;")
        yield f"| {names} | {_rate(cell.before)} | {_rate(cell.after)} | {chance} |"
    yield ""


def describe_round(round_: FixRound) -> str:
    """Describe a round in markdown, for the brief of the next round."""
    return "\n".join(_round_for_brief(round_)) + "\n"


def _round_for_brief(round_: FixRound) -> Iterator[str]:
    yield f"### Round {round_.number}: {round_.outcome.value}\n"
    yield f"{inline_code(round_.detail, width=600)}\n"
    for refused in round_.refusals:
        yield f"- {inline_code(_refusal(refused))}"
    on_wire = round_.wire.cells if round_.wire and round_.wire.dropped else ()
    for cell in (*on_wire, *round_.cells, *(cell for cell in round_.guard if cell.worse)):
        name = f"{inline_code(cell.eval)} on {inline_code(cell.subject)}"
        yield f"- {name}: {_rate(cell.before)} → {_rate(cell.after)}"
    if round_.root_cause:
        yield f"\nThe root cause, according to that round:\n\n{code_block(opening(round_.root_cause, lines=20))}"
    if round_.patch:
        yield f"\nThe change:\n\n{code_block(opening(round_.patch, lines=200, width=400))}"
