"""A gate's report for the terminal and as markdown: may the change merge, why not, and how reliable is the answer?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from rich.text import Text

from demeanor.core.text.percent import rate, share
from demeanor.core.text.wording import all_of, count, one_line
from demeanor.core.values.error_rates import ErrorRates
from demeanor.core.values.exit_code import ExitCode
from demeanor.decide.gate import GateSuite
from demeanor.decide.nights import Baseline
from demeanor.render import (
    STYLES,
    SUBJECT_MARK,
    Column,
    Screen,
    exit_style,
    markdown,
    paint,
    paragraph,
    sign,
    table,
    text_column,
    wrapped,
)
from demeanor.reports.gate.report import GateReport, GateRow
from demeanor.reports.run import POLICIES, RunReport, details, policy_word

_ANSWERS = {"accept": "accept", "reject": "REJECT", "undecided": "OPEN", "skipped": "skipped"}
_ERROR_RATES = "Error rates of the rules, by true pass rate"
_GONE = "Gone since the nights or the base commit"
_EMPTY = (
    "A change is gated by its ALWAYS_PASSES evals, and by every eval that it adds or edits. Evals become ALWAYS_PASSES"
    ' by demeanor promote, after enough nights; a change with nothing to gate is accepted with [gate] empty = "pass".'
)
_RATES = (0.95, 0.8, 0.5)
_MAX_OPEN = 30
_MAX_NAMED = 5
_MAX_ROWS = 1000


def gate_terminal(report: GateReport, run: RunReport, screen: Screen | None = None, *, explain: bool = False) -> str:
    """The report as text for `screen`; with `explain`, it states the error rates of the rules."""
    screen = screen or Screen()
    return paint(_terminal(report, run, screen, explain), screen)


def gate_markdown(report: GateReport) -> str:
    """The report as markdown, above the details of its run in the summary of a CI job or a comment."""
    return "\n".join(_markdown(report)) + "\n"


def headline(report: GateReport) -> str:
    """The answer in one sentence."""
    ran = len(report.rows) - len(report.answered("skipped"))
    every = f"{all_of(ran, 'cell')} {'is' if ran == 1 else 'are'}"
    rejected, undecided = len(report.answered("reject")), len(report.answered("undecided"))
    if report.exit_code is ExitCode.INTERRUPTED:
        return "Interrupted: the gate has no answer"
    if report.empty:
        return "Nothing was gated: no selected eval can block a merge" + _gaps(report)
    if report.exit_code is ExitCode.REJECTED:
        more = f", {undecided} undecided" if undecided else ""
        return f"Must not merge: {rejected} of {count(ran, 'cell')} rejected{more}"
    if report.exit_code is ExitCode.ACCEPTED:
        return f"May merge: {every} accepted"
    if ran == 0:
        return "Undecided: no eval could run" + _gaps(report)
    if not undecided:
        return f"Undecided: {every} accepted" + _gaps(report)
    return f"Undecided: {undecided} of {count(ran, 'cell')} undecided" + _gaps(report)


def sentences(report: GateReport) -> Iterator[str]:
    """What was rejected, by which trials, and how often a gate like this is wrong: a sentence each."""
    if report.empty:
        yield _EMPTY
    rejected = report.answered("reject")
    for row in rejected[:_MAX_NAMED]:
        past = f"; {row.past.passed} of {row.past.judged} at night" if row.past is not None and row.past.judged else ""
        tried = f"passed {row.passed} of {row.judged}" if row.judged else one_line(row.decision.reason, width=400)
        yield f"Rejected: {one_line(row.eval)} · {one_line(row.subject)} {tried}{past}."
    if len(rejected) > _MAX_NAMED:
        yield f"Rejected: {len(rejected) - _MAX_NAMED} more, see the table."
    for row in report.rows:
        if row.suspected:
            yield f"Also suspected: {one_line(row.eval)} · {one_line(row.subject)} passed {row.passed} of {row.judged}."
    if report.suite is not None:
        yield f"A healthy change is blocked {_blocked(report.suite)}."
    if (checked_in := sum(row.decision.rule == "two_of_three" for row in report.rows)) > 0:
        yield (
            f"{count(checked_in, 'cell')} with no nights to compare with had to pass two of three trials. That says "
            "little yet: an eval that passes half of the time does so in every second case. Its nights will show its "
            "rate, and later gates compare with it."
        )


def _blocked(suite: GateSuite) -> str:
    """How often; where few trials tell, between which limits."""
    now = suite.now
    if not now.vague:
        about = "about " if 0.001 <= now.blocks < 0.5 else ""
        return f"{about}{_often(now.blocks)}"
    least = f"between {_often(now.least)} and" if now.least >= 0.001 else "at most"
    return f"{least} {_often(now.most)}: few trials tell yet"


def _often(chance: float) -> str:
    if chance >= 0.5:
        return f"in {share(chance)} of cases"
    return f"1 time in {round(1 / chance)}" if chance >= 0.001 else "less than 1 time in 1000"


def _gaps(report: GateReport) -> str:
    """What is missing for a yes."""
    parts = list(report.run.lost)
    if report.removed:
        parts.append(f"{count(len(report.removed), 'eval')} {'was' if len(report.removed) == 1 else 'were'} removed")
    if report.unjudged:
        parts.append(
            f"{len(report.unjudged)} {'is' if len(report.unjudged) == 1 else 'are'} no longer judged as before"
        )
    parts += dict.fromkeys(text.partition(":")[0].partition(" →")[0] for text in report.unknown)
    return f", but {', and '.join(parts)}" if parts else ""


def _to_accept(report: GateReport) -> Iterator[tuple[str, str]]:
    """Everything that is gone, and how to accept it."""
    gone = {name: f"was in {place}" if place else "" for name, place in report.removed.items()} | dict(report.unjudged)
    for name, what in list(gone.items())[:_MAX_OPEN]:
        yield name, (f"{what}; " if what else "") + f"to accept: --accept-removed {shlex.quote(name)}"
    if len(gone) > _MAX_OPEN:
        yield f"{len(gone) - _MAX_OPEN} more", "see gate.json"


def error_rates_line(rates: ErrorRates) -> str:
    """How often a rule acts, at three true pass rates."""
    rows = rates.rows if len(rates.rows) <= len(_RATES) else [row for row in rates.rows if row.rate in _RATES]
    chances = ", ".join(f"{share(row.chance)} at {rate(row.rate)}" for row in rows)
    mean = "" if rows[0].trials is None else f"{rows[0].trials:.1f}"
    trials = f"; {mean}" + f" trials at {rate(rows[0].rate)}" if mean else ""
    return f"{rates.rule}: {rates.about}. For {rates.setting}: it {rates.action}s {chances}{trials}"


def _history(past: Baseline | None) -> str:
    if past is None:
        return "none"
    mark = f" across {SUBJECT_MARK}" if past.mixed else ""
    if past.left_out:
        mark = f" since {SUBJECT_MARK}"
    return f"{past.passed}/{past.judged} in {count(past.nights, 'night')}{mark}"


def _score(row: GateRow) -> str:
    return f"{row.passed}/{row.judged}" + (f" +{row.voided} void" if row.voided else "")


def _terminal(report: GateReport, run: RunReport, screen: Screen, explain: bool) -> Iterator[Text]:
    yield from paragraph(headline(report), screen, exit_style(report.exit_code))
    for sentence in sentences(report):
        yield from paragraph(sentence, screen)
    if report.rows:
        yield Text()
        yield from table(_columns(report, screen), screen)
    undecided = report.answered("undecided")
    if undecided:
        yield Text()
        yield Text("Undecided", "bold")
        for row in undecided[:_MAX_OPEN]:
            yield from _reason(row, screen)
        if len(undecided) > _MAX_OPEN:
            yield Text(screen.safe(f"… and {len(undecided) - _MAX_OPEN} more, see gate.json"), "dim")
    yield from _missing(report, screen)
    if explain and report.characteristics:
        yield Text()
        yield Text(_ERROR_RATES, "bold")
        for rates in report.characteristics:
            yield from paragraph(error_rates_line(rates), screen, "dim")
        for sentence in report.suite.sentences() if report.suite else ():
            yield from paragraph(sentence, screen)
        yield from paragraph("more: demeanor help statistics", screen, "dim")
    yield from details(run, screen, resumable=False)


def _missing(report: GateReport, screen: Screen) -> Iterator[Text]:
    """What is gone, and what is not known."""
    if gone := list(_to_accept(report)):
        yield Text()
        yield Text(_GONE, "bold")
        for name, what in gone:
            yield from paragraph(f"{one_line(name)}: {one_line(what, width=400)}", screen, indent=4)
    for text in report.unknown:
        yield Text()
        yield from paragraph(f"Unknown: {one_line(text, width=600)}", screen)


def _reason(row: GateRow, screen: Screen) -> Iterator[Text]:
    name = screen.safe(f"{one_line(row.eval)} · {one_line(row.subject)}")
    yield from wrapped(Text.assemble(sign("undecided", screen), " ", (name, "bold")), screen.width)
    yield from paragraph(one_line(row.decision.reason, width=400), screen, indent=4)


def _columns(report: GateReport, screen: Screen) -> Iterator[Column]:
    rows = report.rows
    answers = [Text(_ANSWERS[row.decision.answer], STYLES[row.decision.answer]) for row in rows]
    yield Column(title="", cells=answers)
    yield text_column("eval", [one_line(row.eval, width=300) for row in rows], screen, comfort=24, least=8)
    if len({row.subject for row in rows}) > 1:
        subjects = [one_line(row.subject, width=300) for row in rows]
        yield text_column("subject", subjects, screen, "dim", comfort=20, least=8)
    yield text_column("policy", [policy_word(row.policy, screen.width) for row in rows], screen, "dim")
    if any(row.edit for row in rows):
        yield text_column("change", [row.edit for row in rows], screen, rank=3)
    yield text_column("passed", ["" if row.decision.answer == "skipped" else _score(row) for row in rows], screen)
    yield text_column("history", [_history(row.past) for row in rows], screen, "dim", rank=2)
    yield text_column("rule", [row.decision.rule for row in rows], screen, "dim", rank=5)


def _markdown(report: GateReport) -> Iterator[str]:
    yield markdown.headline(headline(report), report.exit_code)
    yield ""
    for sentence in sentences(report):
        yield f"{markdown.escape(sentence)}\n"
    if report.rows:
        yield "| Decision | Eval | Subject | Policy | Change | Passed | History | Why |"
        yield "| --- | --- | --- | --- | --- | --: | --- | --- |"
    for row in report.rows[:_MAX_ROWS]:
        answer = row.decision.answer
        yield markdown.table_row(
            [
                f"**{answer}**" if answer in {"reject", "undecided"} else answer,
                _code(row.eval),
                _code(row.subject),
                POLICIES[row.policy],
                row.edit,
                _score(row),
                _history(row.past),
                f"{row.decision.rule}: {markdown.prose(row.decision.reason, width=400)}",
            ]
        )
    if len(report.rows) > _MAX_ROWS:
        yield f"\n… and {count(len(report.rows) - _MAX_ROWS, 'more row')}, see gate.json."
    if gone := list(_to_accept(report)):
        yield f"\n{_GONE}:\n"
        yield from (f"- {_code(name)}: {markdown.prose(what, width=400)}" for name, what in gone)
    for text in report.unknown:
        yield f"\nUnknown: {markdown.prose(text, width=400)}"


def _code(text: str) -> str:
    return markdown.inline_code(text, width=400)
