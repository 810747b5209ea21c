"""A gate's report for a CI job's summary or a comment; whatever others wrote stands in code."""

from __future__ import annotations

from collections.abc import Iterator

from demeanor.commands.gate import phrases as gate_words
from demeanor.commands.gate.report import GateReport
from demeanor.commands.run import phrases as words
from demeanor.core.exit_code import ExitCode
from demeanor.render.markdown import inline_code

_SIGNS = {ExitCode.ACCEPTED: "✅", ExitCode.REJECTED: "❌"}
_MOST_ROWS = 1000


def gate_markdown(report: GateReport) -> str:
    """The report as markdown."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: GateReport) -> Iterator[str]:
    yield f"## {_SIGNS.get(report.exit_code, '⚠️')} {gate_words.headline(report)}"
    yield ""
    yield "| Decision | Eval | Subject | Policy | Change | Passed | History | p | adjusted | Why |"
    yield "| --- | --- | --- | --- | --- | --: | --- | --: | --: | --- |"
    for row in report.rows[:_MOST_ROWS]:
        answer = row.decision.answer
        cells = [
            f"**{answer}**" if answer in {"reject", "undecided"} else answer,
            _code(row.eval),
            _code(row.subject),
            words.POLICIES[row.policy],
            row.edit,
            gate_words.score(row),
            gate_words.nights(row.past),
            gate_words.p_value(row.p_value).replace("<", "&lt;"),
            gate_words.p_value(row.adjusted).replace("<", "&lt;"),
            f"{row.decision.rule}: {_code(row.decision.reason)}",
        ]
        yield f"| {' | '.join(cells)} |"
    if len(report.rows) > _MOST_ROWS:
        yield f"\n… and {len(report.rows) - _MOST_ROWS} more rows, told in gate.json."
    yield "\nError rates of the rules, for one eval with one subject:\n"
    for found in report.characteristics:
        yield f"- {_code(gate_words.error_rates(found))}"
    for note in report.notes:
        yield f"\nNote: {_code(note)}"


def _code(text: str) -> str:
    return inline_code(text, width=400)
