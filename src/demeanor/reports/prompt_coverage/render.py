"""The report of `cover` for the terminal and as markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.text import Text

from demeanor.core.text.percent import rate, share
from demeanor.core.text.wording import count, one_line
from demeanor.core.values.evidence import Spent
from demeanor.core.values.exit_code import ExitCode
from demeanor.render import (
    Column,
    Screen,
    exit_style,
    labelled,
    markdown,
    money,
    paint,
    paragraph,
    percent,
    table,
    text_column,
)
from demeanor.reports.prompt_coverage.report import (
    DEEDS,
    CoveredInstruction,
    CoveringEval,
    CoverReport,
    InstructionAnswer,
    NoticedBy,
)

ORDER: tuple[InstructionAnswer, ...] = ("harmful", "held", "redundant", "not held", "not tried")
MEANINGS: Mapping[InstructionAnswer, str] = {
    "harmful": "the rate of an eval rises without it",
    "held": "an eval fails without it",
    "redundant": "an eval fails only if others are missing too",
    "not held": "no eval notices that it is missing",
    "not tried": "no answer yet",
}
_STYLES: Mapping[InstructionAnswer, str] = {
    "harmful": "bold red",
    "held": "green",
    "redundant": "yellow",
    "not held": "red",
    "not tried": "dim",
}

_INDENT = " " * 12


def cover_terminal(report: CoverReport, screen: Screen | None = None) -> str:
    """The report as text for `screen`."""
    screen = screen or Screen()
    return paint(_lines(report, screen), screen)


def headline(report: CoverReport) -> str:
    """The result in one sentence."""
    total = report.coverage
    if total.rate is None or total.low is None or total.high is None:
        return "Undecided: no instruction has an answer yet"
    held = f"{total.held} of {count(total.tried, 'instruction')} held by an eval: {percent(total.rate)}"
    interval = f"95 % interval {percent(total.low)} to {percent(total.high)}"
    if total.tried < total.instructions:
        interval = f"{interval} of all {total.instructions}"
    if report.min_coverage is None:
        return f"{'Coverage' if report.complete else 'Coverage so far'}: {held} ({interval})"
    word = {ExitCode.ACCEPTED: "Accepted", ExitCode.REJECTED: "Rejected"}.get(report.exit_code, "Undecided")
    return f"{word}: {held} ({interval}); required: {rate(report.min_coverage)}"


def _lines(report: CoverReport, screen: Screen) -> Iterator[Text]:
    yield from paragraph(headline(report), screen, exit_style(report.exit_code))
    for label, text in facts(report):
        yield from labelled(f"{label:<8}", text, screen)
    usable = {eval_.eval for eval_ in report.evals if eval_.unusable is None}
    for answer in ORDER:
        rows = [instruction for instruction in report.instructions if instruction.answer == answer]
        if rows:
            yield Text()
            yield Text(f"{answer} ({len(rows)}): {MEANINGS[answer]}", _STYLES[answer])
            for instruction in rows:
                yield from _instruction(instruction, screen, usable)
    yield Text()
    yield from table(_columns(report.evals, screen), screen)
    for text in left_out(report):
        yield from labelled("left out  ", text, screen)
    yield Text()
    for note in (*promises(report), *dict.fromkeys(report.notes)):
        yield from labelled("note    ", one_line(note, width=400), screen)


def facts(report: CoverReport) -> Iterator[tuple[str, str]]:
    """What was tried, and what it took."""
    yield "subject", report.subject
    if report.operator != "remove":
        yield "changed", f"each instruction was {DEEDS[report.operator]}"
    if report.since is not None:
        yield "since", f"only instructions that changed since {report.since}"
    voids = f", {count(report.voided, 'void')}" if report.voided else ""
    reused = f", {report.reused} reused" if report.reused else ""
    yield "spent", f"{count(report.trials, 'trial')}{voids}{reused}; cost {money(Spent(cost_usd=report.cost_usd))}"
    yield "run", report.folder


def promises(report: CoverReport) -> Iterator[str]:
    """The stated error rates."""
    yield (
        f"not held: if an eval's rate fell by {report.drop * 100:.0f} points or more, down to the rate in the table, "
        f"that would have been noticed with a probability of at least {rate(report.sure)}"
    )
    yield (
        f"held, redundant and harmful: for an instruction without effect, the probability of such an answer is at most "
        f"{rate(report.false_alarm)}"
    )


def left_out(report: CoverReport) -> Iterator[str]:
    """The evals that can't answer, and why."""
    for eval_ in report.evals:
        if eval_.unusable is not None:
            yield f"{one_line(eval_.eval)}: {eval_.unusable}"


def _instruction(instruction: CoveredInstruction, screen: Screen, usable: set[str]) -> Iterator[Text]:
    head = f"  {instruction.id}  "
    text = one_line(_named(instruction), width=max(30, screen.width - len(head)))
    yield Text(screen.safe(f"{head}{text}"))
    for by in instruction.noticed_by:
        yield from labelled(_INDENT, noticed(by), screen, "dim")
    if instruction.untried and not usable <= {*instruction.untried}:
        names = ", ".join(map(one_line, instruction.untried))
        yield from labelled(_INDENT, f"not tried with {names}", screen, "dim")
    if instruction.file is not None:
        yield Text(screen.safe(f"{_INDENT}{one_line(instruction.file)}:{instruction.line}"), "dim")


def _named(instruction: CoveredInstruction) -> str:
    """The text of an instruction, with the tool or parameter that it belongs to."""
    return instruction.text if instruction.place == "system" else f"{instruction.place}: {instruction.text}"


def noticed(by: NoticedBy) -> str:
    """`reads_first: 60/60 → 0/4 passed (false alarm: at most 0.1 %)`."""
    others = f", only together with {', '.join(by.together)}" if by.together else ""
    rates = f"{by.before_passed}/{by.before_judged} → {by.after_passed}/{by.after_judged} passed"
    return f"{one_line(by.eval)}: {rates}{others} (false alarm: at most {share(by.doubt)})"


def _columns(evals: tuple[CoveringEval, ...], screen: Screen) -> Iterator[Column]:
    yield text_column("eval", [one_line(eval_.eval) for eval_ in evals], screen, least=12)
    yield text_column("passed", [f"{eval_.passed}/{eval_.judged}" for eval_ in evals], screen, align="right")
    yield text_column("from", [eval_.source for eval_ in evals], screen, rank=2)
    yield text_column("notices", [notices(eval_) for eval_ in evals], screen)


def notices(eval_: CoveringEval) -> str:
    """The rates that an eval notices: `≤ 45 %`."""
    below = [f"≤ {percent(eval_.notices_below)}"] if eval_.notices_below is not None else []
    above = [f"≥ {percent(eval_.notices_above)}"] if eval_.notices_above is not None else []
    return ", ".join(below + above) or "nothing"


def cover_markdown(report: CoverReport) -> str:
    """The report as markdown, for the summary of a CI job."""
    return "\n".join(_markdown(report)) + "\n"


def _markdown(report: CoverReport) -> Iterator[str]:
    yield markdown.headline(headline(report), report.exit_code)
    yield ""
    yield "; ".join(f"{label}: {markdown.inline_code(text)}" for label, text in facts(report))
    yield ""
    yield markdown.table_row(("answer", "id", "instruction", "where", "evals"))
    yield markdown.table_row(("---",) * 5)
    for answer in ORDER:
        for instruction in report.instructions:
            if instruction.answer == answer:
                evals = "<br>".join(markdown.inline_code(noticed(by), width=200) for by in instruction.noticed_by)
                text = markdown.inline_code(_named(instruction), width=120)
                where = (
                    markdown.inline_code(f"{instruction.file}:{instruction.line}")
                    if instruction.file is not None
                    else ""
                )
                yield markdown.table_row((answer, markdown.inline_code(instruction.id), text, where, evals))
    yield ""
    yield markdown.table_row(("eval", "passed", "from", "notices"))
    yield markdown.table_row(("---",) * 4)
    for covering in report.evals:
        cells = (f"{covering.passed}/{covering.judged}", covering.source, notices(covering))
        yield markdown.table_row((markdown.inline_code(covering.eval), *cells))
    yield ""
    unused = (f"left out: {text}" for text in left_out(report))
    for note in (*unused, *promises(report), *dict.fromkeys(report.notes)):
        yield f"- {markdown.inline_code(note, width=400)}"
