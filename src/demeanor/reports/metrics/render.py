"""An analysis for the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.text import Text

from demeanor.core.text.wording import count, one_line
from demeanor.core.values.policy import Policy
from demeanor.core.values.tally import Mean, Summary
from demeanor.render import Column, Screen, numbers as figures, paint, paragraph, table
from demeanor.reports.metrics.classify import Classified
from demeanor.reports.metrics.report import Analysis, AnalysisRow
from demeanor.reports.run import ROUGH, known_bad, policy_word
from demeanor.statistics import is_rough

_EXAMPLES = 3


def analysis_terminal(analysis: Analysis, screen: Screen | None = None) -> str:
    """The analysis as text for `screen`."""
    screen = screen or Screen()
    return paint(_lines(analysis, screen), screen)


def _lines(analysis: Analysis, screen: Screen) -> Iterator[Text]:
    names = ", ".join(one_line(name) for name in analysis.sources[:5])
    more = f" and {len(analysis.sources) - 5} more" if len(analysis.sources) > 5 else ""
    yield from paragraph(f"{count(len(analysis.sources), 'run')}: {names}{more}", screen, "bold")
    for summary in analysis.summaries:
        yield Text()
        rows = [row for row in analysis.rows if row.tally.subject == summary.subject]
        yield Text(screen.safe(one_line(summary.subject)), "bold")
        yield from table(_columns(analysis, rows, summary, screen), screen)
    for summary in analysis.summaries:
        if summary.known_bad:
            text = f"{one_line(summary.subject)}: {known_bad(summary)}: failing is expected"
            yield from paragraph(text, screen, "dim")
    for note in _notes(analysis):
        yield from paragraph(note, screen, "dim")
    yield Text()
    yield Text("Why trials did not pass", "bold")
    for category, number in analysis.categories.items():
        yield Text(screen.safe(f"{number:>5}  {one_line(category)}"), "" if number else "dim")
        own = [trial for trial in analysis.classified if trial.first.category == category]
        for example in _examples(own):
            yield from paragraph(example, screen, "dim", indent=7)


def _columns(analysis: Analysis, rows: Sequence[AnalysisRow], summary: Summary, screen: Screen) -> Iterator[Column]:
    mean = summary.judged > 1

    def column(title: str, show: Callable[[AnalysisRow], str], last: str = "", *, rank: int = 0) -> Column:
        texts = [Text(screen.safe(show(row))) for row in rows]
        return Column(
            title=title, cells=[*texts, *([Text(screen.safe(last), "dim")] if mean else [])], align="right", rank=rank
        )

    marks = ["◆ " if row.differs or row.mixed else "" for row in rows]
    names = [
        Text(screen.safe(mark + one_line(row.tally.eval, width=300))) for mark, row in zip(marks, rows, strict=True)
    ]
    names += [Text(f"mean of {summary.judged}", "dim")] if mean else []
    policies = [Text(policy_word(row.tally.policy, screen.width), "dim") for row in rows]
    yield Column(title="eval", cells=names, comfort=34, least=8)
    yield Column(title="policy", cells=[*policies, *([Text()] if mean else [])])
    yield column("passed", _counts)
    yield column("pass rate", lambda row: figures.rate(row.tally.rate), figures.rate(summary.rate))
    tallies = [row.tally for row in rows]
    more = any(0 < tally.passed < tally.judged for tally in tallies)  # else both would only repeat the pass rate
    for k in analysis.ks[1:] if more else ():
        rough = any(is_rough(tally.judged, k) for tally in tallies if tally.policy is not Policy.USUALLY_FAILS)
        yield column(f"pass@{k}", _at(k), _mean(summary.pass_at.get(k), rough=rough), rank=3)
        yield column(f"pass^{k}", _hat(k), _mean(summary.pass_hat.get(k), rough=rough), rank=2)
    yield column("flakiness", lambda row: figures.UNKNOWN if row.flakiness is None else f"{row.flakiness:.2f}", rank=4)
    yield column("void", lambda row: str(row.tally.voided or ""), rank=5)
    yield column("time", lambda row: figures.duration(row.tally.spent.seconds) if row.tally.attempts else "", rank=7)
    yield column(
        "cost", lambda row: figures.money(row.tally.spent, row.tally.unpriced) if row.tally.attempts else "", rank=6
    )


def _at(k: int) -> Callable[[AnalysisRow], str]:
    return lambda row: figures.of_k(row.tally.pass_at.get(k), rough=is_rough(row.tally.judged, k))


def _hat(k: int) -> Callable[[AnalysisRow], str]:
    return lambda row: figures.of_k(row.tally.pass_hat.get(k), rough=is_rough(row.tally.judged, k))


def _counts(row: AnalysisRow) -> str:
    if row.tally.skipped is not None:
        return "skipped"
    return f"{row.tally.passed} of {row.tally.judged}" if row.tally.judged else "no data"


def _mean(mean: Mean | None, *, rough: bool) -> str:
    return figures.of_k(mean.value if mean else None, rough=rough)


def _notes(analysis: Analysis) -> Iterator[str]:
    if any(row.differs for row in analysis.rows):
        yield ("◆ the eval or the model changed between runs: one row for each version, and the mean is of the latest")
    if any(row.mixed for row in analysis.rows):
        yield "◆ trials of different versions of the subject are in one row"
    if any(is_rough(row.tally.judged, k) and row.flakiness for row in analysis.rows for k in analysis.ks[1:]):
        yield ROUGH
    yield from (f"note: {one_line(note, width=400)}" for note in analysis.notes)
    yield "flakiness: 0 means always the same result, 1 a coin toss; see the interval of the rate for its reliability"


def _examples(trials: Sequence[Classified]) -> Iterator[str]:
    """The failure classes of a category, each with an example."""
    by_name: dict[str, list[Classified]] = {}
    for trial in trials:
        by_name.setdefault(trial.first.name, []).append(trial)
    for name, own in list(by_name.items())[:_EXAMPLES]:
        first = own[0]
        issue = f" ({one_line(first.first.issue)})" if first.first.issue else ""
        excerpt = f": {one_line(first.first.excerpt, width=160)}" if first.first.excerpt else ""
        where = f"{one_line(first.eval)}/{one_line(first.subject)}/{first.number}"
        yield f"{len(own)} x {one_line(name)} by {first.first.basis}{issue}, as in {where}{excerpt}"
        for other in first.classes[1:2]:
            if other.basis == "pattern":
                yield f"    also {one_line(other.name)} ({one_line(other.category)}) by pattern"
    if len(by_name) > _EXAMPLES:
        yield f"… and {count(len(by_name) - _EXAMPLES, 'more kind')}"
