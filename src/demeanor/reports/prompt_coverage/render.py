"""The report of `cover` as blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from demeanor.core.evidence import Spent
from demeanor.core.exit_code import ExitCode
from demeanor.core.percent import rate, share
from demeanor.core.text import count, one_line
from demeanor.render import blocks as b
from demeanor.render.numbers import money, percent
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


def blocks_of(report: CoverReport) -> Iterator[b.Block]:
    """The report for every format."""
    yield b.Title(headline(report), report.exit_code)
    yield b.Fields(list(facts(report)), width=8)
    usable = {one.eval for one in report.evals if one.unusable is None}
    for answer in ORDER:
        rows = [one for one in report.instructions if one.answer == answer]
        if rows:
            yield b.Heading(b.Words(f"{answer} ({len(rows)}): {MEANINGS[answer]}"), _STYLES[answer])
            yield b.Listing([_item(one, usable) for one in rows])
    yield b.GAP
    yield b.Table(
        [
            b.Column("eval", [one.eval for one in report.evals], least=12),
            b.figures("passed", [f"{one.passed}/{one.judged}" for one in report.evals]),
            b.Column("from", [b.Words(one.source) for one in report.evals], rank=2),
            b.Column("notices", [b.Words(notices(one)) for one in report.evals]),
        ]
    )
    unusable = [f"{one_line(one.eval)}: {one.unusable}" for one in report.evals if one.unusable is not None]
    yield b.Fields([("left out", text) for text in unusable])
    yield b.GAP
    notes = (*promises(report), *dict.fromkeys(report.notes))
    yield b.Fields([("note", one_line(note, width=400)) for note in notes], width=8)


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


def _item(one: CoveredInstruction, usable: set[str]) -> b.Item:
    known = tuple(b.Item(b.Span(text, "dim"), inner=0) for text in _known(one, usable))
    return b.Item(one_line(_named(one), width=120), f"  {one.id}  ", known, inner=12)


def _known(one: CoveredInstruction, usable: set[str]) -> Iterator[str]:
    """What is known of an instruction: which evals notice it, which were not tried, and where it is."""
    yield from map(noticed, one.noticed_by)
    if one.untried and not usable <= {*one.untried}:
        yield f"not tried with {', '.join(map(one_line, one.untried))}"
    if one.file is not None:
        yield f"{one_line(one.file)}:{one.line}"


def _named(one: CoveredInstruction) -> str:
    """The text of an instruction, with the tool or parameter that it belongs to."""
    return one.text if one.place == "system" else f"{one.place}: {one.text}"


def noticed(by: NoticedBy) -> str:
    """`reads_first: 60/60 → 0/4 passed (false alarm: at most 0.1 %)`."""
    others = f", only together with {', '.join(by.together)}" if by.together else ""
    rates = f"{by.before_passed}/{by.before_judged} → {by.after_passed}/{by.after_judged} passed"
    return f"{one_line(by.eval)}: {rates}{others} (false alarm: at most {share(by.doubt)})"


def notices(one: CoveringEval) -> str:
    """The rates that an eval notices: `≤ 45 %`."""
    below = [f"≤ {percent(one.notices_below)}"] if one.notices_below is not None else []
    above = [f"≥ {percent(one.notices_above)}"] if one.notices_above is not None else []
    return ", ".join(below + above) or "nothing"
