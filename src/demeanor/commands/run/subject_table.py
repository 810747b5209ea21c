"""The table of one subject: one row per eval, and the mean below them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rich.text import Text

from demeanor.commands.run import phrases as words
from demeanor.commands.run.report import CellReport, RunReport
from demeanor.core.tally import Mean, Summary
from demeanor.core.text import count
from demeanor.render import numbers as figures
from demeanor.render.marks import STYLES, dots, sign
from demeanor.render.table import Column, table, wrapped
from demeanor.render.terminal import Screen


def subject_table(report: RunReport, summary: Summary, screen: Screen) -> Iterator[Text]:
    """The lines of one subject's table."""
    cells = report.of_subject(summary.subject)
    held = sum(cell.decision.answer == "accept" for cell in cells)
    ran = count(sum(cell.decision.answer != "skipped" for cell in cells), "eval")
    yield Text.assemble((screen.safe(summary.subject), "bold"), (f"  {held} of {ran} held", "dim"))
    lines = table(list(_columns(report, cells, summary, screen)), screen.width, ellipsis=screen.safe("…"))
    yield from lines
    if "pass^" in lines[0].plain:
        for note in _footnotes(report, summary):
            yield from wrapped(Text(note, "dim"), screen.width)


def _footnotes(report: RunReport, summary: Summary) -> Iterator[str]:
    k = words.shown_k(report)
    mean = summary.pass_at.get(k)
    if report.estimator == "plug-in":
        yield f"~ plug-in: reckoned from the pass rate seen, so that pass@{k} is too low and pass^{k} too high"
    if mean is not None and mean.evals < summary.judged:
        yield f"pass@{k} and pass^{k}: mean of {count(mean.evals, 'eval')} with at least {k} judged trials"


def _columns(report: RunReport, cells: Sequence[CellReport], summary: Summary, screen: Screen) -> Iterator[Column]:
    has_mean = summary.judged > 1

    def texts(title: str, show: Callable[[CellReport], Text], mean: str = "", *, rank: int = 0) -> Column:
        last = [Text(screen.safe(mean), "dim")] if has_mean else []
        return Column(title=title, cells=[*map(show, cells), *last], rank=rank)

    def figure(title: str, show: Callable[[CellReport], str], mean: str = "", *, rank: int = 0) -> Column:
        last = [Text(screen.safe(mean), "dim")] if has_mean else []
        shown = [_figure(show(cell), cell, screen) for cell in cells]
        return Column(title=title, cells=[*shown, *last], align="right", rank=rank)

    names = [Text(screen.safe(" ".join(cell.tally.eval.split()))) for cell in cells]
    mean_name = [Text(f"mean of {count(summary.judged, 'eval')}", "dim")] if has_mean else []
    yield texts("", lambda cell: _status(cell, screen))
    yield Column(title="eval", cells=[*names, *mean_name], comfort=36, least=8)
    yield texts("policy", lambda cell: Text(words.POLICIES[cell.tally.policy], "dim"), rank=6)
    yield texts("trials", lambda cell: dots(words.outcomes(cell), screen))
    yield figure("pass rate", lambda cell: figures.rate(cell.tally.rate), figures.rate(summary.rate))
    k, mark = words.shown_k(report), "~" if report.estimator == "plug-in" else ""
    if k > 1:
        at, hat = summary.pass_at.get(k), summary.pass_hat.get(k)
        yield figure(f"{mark}pass@{k}", lambda cell: figures.percent(cell.tally.pass_at.get(k)), _mean(at), rank=2)
        yield figure(f"{mark}pass^{k}", lambda cell: figures.percent(cell.tally.pass_hat.get(k)), _mean(hat), rank=1)
    yield figure("time", lambda cell: figures.duration(cell.tally.spent.seconds), rank=3)
    yield figure("tokens", lambda cell: figures.tokens(cell.tally.spent, cell.tally.uncounted), rank=5)
    yield figure("cost", lambda cell: figures.money(cell.tally.spent, cell.tally.unpriced), rank=4)


def _status(cell: CellReport, screen: Screen) -> Text:
    answer = "news" if cell.decision.news else cell.decision.answer
    word = words.status(cell)
    style = STYLES["void"] if word == "FLAKY" and answer == "accept" else STYLES[answer]
    return Text.assemble(sign(answer, screen), " ", (word, "dim" if word == "expected fail" else style))


def _figure(text: str, cell: CellReport, screen: Screen) -> Text:
    if cell.tally.attempts == 0:
        return Text()
    return Text(screen.safe(text), "dim" if text == figures.UNKNOWN else "")


def _mean(mean: Mean | None) -> str:
    return figures.percent(mean.value if mean else None)
