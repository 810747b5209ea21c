"""A comparison for a CI job's summary or a comment; whatever others wrote stands in code."""

from __future__ import annotations

from collections.abc import Iterator

from demeanor.commands.compare import phrases as compare_words
from demeanor.commands.compare.report import CompareReport
from demeanor.core.exit_code import ExitCode
from demeanor.render.markdown import inline_code

_SIGNS = {ExitCode.ACCEPTED: "✅", ExitCode.REJECTED: "❌"}


def compare_markdown(report: CompareReport) -> str:
    """The comparison as markdown."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: CompareReport) -> Iterator[str]:
    yield f"## {_SIGNS.get(report.exit_code, '⚠️')} {compare_words.headline(report)}\n"
    yield f"- base: {_code(compare_words.side(report.base))}"
    yield f"- new: {_code(compare_words.side(report.new))}\n"
    yield "| Outcome | Eval | Subject | Base | New | p | adjusted | visible drop |"
    yield "| --- | --- | --- | --: | --: | --: | --: | --: |"
    for one in report.comparison.evals:
        cells = [
            one.outcome.value,
            _code(one.eval),
            _code(one.subject),
            compare_words.score(one.base),
            compare_words.score(one.new),
            compare_words.p_value(one.p_value).replace("<", "&lt;"),
            compare_words.p_value(one.adjusted).replace("<", "&lt;"),
            compare_words.drop(one.detectable_drop),
        ]
        yield f"| {' | '.join(cells)} |"
    yield ""
    for label, text in compare_words.shifts(report):
        yield f"- {label}: {_code(text)}"
    for name, why in report.comparison.incomparable:
        yield f"- not compared: {_code(name)}: {_code(why)}"
    for note in report.notes:
        yield f"- note: {_code(note)}"


def _code(text: str) -> str:
    return inline_code(text, width=400)
