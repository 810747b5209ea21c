"""The page of one eval: its rate over time for each subject, its source, its promotion, and its failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from demeanor.core.text.wording import count
from demeanor.core.values.errors import DemeanorError, UnknownName
from demeanor.core.values.eval import Eval
from demeanor.core.values.policy import Policy
from demeanor.core.values.run_diff import ChangePoint
from demeanor.define import policy_file
from demeanor.render import numbers
from demeanor.reports.eval_history import PastCell, SubjectHistory, make_eval_history
from demeanor.reports.night import phrases
from demeanor.reports.promotion import PromotionReport, make_promotion_report
from demeanor.reports.run import POLICIES, Failure, failed_by_reason, void_by_reason
from demeanor.results import nights_until
from demeanor.runner import Catalog
from demeanor.store.history import SqlHistory, read_notes
from demeanor.web.charts import ChartPoint, rate_chart
from demeanor.web.links import Links
from demeanor.web.pages.context import PageContext

MOST_RUNS = 60
_MOST_SOURCE_LINES = 200
_MOST_NOTES = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class SubjectView:
    """One subject of the eval."""

    history: SubjectHistory
    """Its runs."""

    policy: str
    """The policy in a word."""

    chart: Markup
    """The rate over time."""

    points: tuple[tuple[ChangePoint, str, str], ...]
    """Change points, each with the days between which it surely happened."""

    left_out: int
    """Older runs that are not shown."""


def eval_page(context: PageContext, parts: Mapping[str, str], query: Mapping[str, str], links: Links) -> dict[str, Any]:
    """One eval over all nights; `?kind=all` includes other runs."""
    history = context.history()
    name = parts["eval"]
    kind = query.get("kind", "")
    version = history.database.version()
    cells = context.cached(("eval", name), version, lambda: history.eval_history(name))
    if not cells:
        recent = [cell.eval for run in history.runs(limit=3) for cell in history.cells(run.name)]
        raise UnknownName("eval", name, dict.fromkeys(recent), where="the history")
    nightly = [cell for cell in cells if cell.kind == "nightly"]
    which = "all" if kind == "all" or not nightly else "nightly"
    cached_history = context.cached(
        ("rates", name, which), tuple(cells), lambda: make_eval_history(history, name, kind=which)
    )
    own, why_not = context.evals()
    definition = own.get(name)
    latest = nights_until(history, history.run((cells if which == "all" else nightly)[-1].run), 0)[-1]
    return {
        "name": name,
        "layer": cells[-1].layer,
        "subjects": [_subject(subject, name, links) for subject in cached_history.subjects],
        "kind": cached_history.kind,
        "has_others": len(nightly) < len(cells),
        "definition": definition,
        "source": _source(definition, context.config.root) if definition else None,
        "why_not": why_not,
        "promotion": _promotion(context, history, definition) if definition else None,
        "latest": latest.name,
        "failures": [(*failure, run) for run in latest.names for failure in _failures(history, run, name)],
        "decisions": history.decisions(name=name, limit=10),
        "notes": read_notes(history, name=name, limit=_MOST_NOTES),
    }


def eval_table(context: PageContext, parts: Mapping[str, str], query: Mapping[str, str]) -> list[dict[str, Any]]:
    """One eval in every night, or with `?kind=all` in every run, as rows of a file."""
    history, name = context.history(), parts["eval"]
    kind = "all" if query.get("kind") == "all" or not history.eval_history(name, kind="nightly") else "nightly"
    return [
        {
            "eval": name, "subject": subject.subject, "run": past.run, "started": past.started, "commit": past.commit,
            "passed": past.cell.passed, "judged": past.cell.judged, "void": past.cell.voided,
            "rate": past.cell.rate.value if past.cell.rate else None,
            "low": past.cell.rate.low if past.cell.rate else None,
            "high": past.cell.rate.high if past.cell.rate else None,
        }
        for subject in make_eval_history(history, name, kind=kind).subjects
        for past in subject.past
    ]  # fmt: skip


def _subject(history: SubjectHistory, name: str, links: Links) -> SubjectView:
    past = history.past[-MOST_RUNS:]
    places = {cell.run: index for index, cell in enumerate(past)}
    return SubjectView(
        history=history,
        policy=POLICIES[history.policy],
        chart=rate_chart(
            [_point(cell, name, history.subject, links) for cell in past],
            changes=[places[point.began] for point in history.course.points if point.began in places],
            label=f"pass rate of {history.subject} over {count(len(past), 'run')}",
        ),
        points=tuple((point, *_between(history, point)) for point in history.course.points),
        left_out=len(history.past) - len(past),
    )


def _between(history: SubjectHistory, point: ChangePoint) -> tuple[str, str]:
    """The last day surely before a change and the first surely after it."""
    days = {past.run: past.started[:10] for past in history.past}
    return days[point.last_before], days[point.first_after]


def _point(past: PastCell, name: str, subject: str, links: Links) -> ChartPoint:
    cell = past.cell
    score = f"{cell.passed} of {cell.judged} passed" if cell.judged else phrases.state(cell) or "no data"
    void = f", {cell.voided} void" if cell.voided else ""
    commit = f", commit {past.commit[:7]}" if past.commit else ""
    interval = f" ({numbers.rate(cell.rate)})" if cell.rate else ""
    ran = cell.judged or cell.voided
    return ChartPoint(
        label=past.started[5:10],
        rate=cell.rate,
        title=f"{past.started[:10]}: {score}{interval}{void}{commit}",
        link=links.page("trial", past.source, name, subject, "first") if ran else "",
        mark=phrases.marks_of(cell),
    )


def _source(definition: Eval, root: Path) -> tuple[str, str]:
    """Where the eval is defined, and its text as far as it is short."""
    file, line = policy_file(definition), definition.source.line
    shown = str(file.relative_to(root)) if file.is_relative_to(root) else str(file)
    try:
        lines = file.read_text("utf-8", "replace").splitlines()
    except OSError as error:
        return shown, f"(can't be read: {error.strerror})"
    if file.suffix != ".py":
        return shown, "\n".join(lines[:_MOST_SOURCE_LINES])
    return f"{shown}:{line}", "\n".join(_block(lines, line))


def _block(lines: Sequence[str], line: int) -> list[str]:
    """The definition that begins at a line: up to the next one at the same level."""
    block: list[str] = []
    body = False
    for text in lines[line - 1 : line - 1 + _MOST_SOURCE_LINES]:
        if body and text and not text[0].isspace() and text[0] not in ")]}":
            break
        body = body or text.startswith(("def ", "async def ", "    "))
        block.append(text)
    while block and not block[-1].strip():
        block.pop()
    return block


def _promotion(context: PageContext, history: SqlHistory, definition: Eval) -> PromotionReport | None:
    """How far the eval is from another policy, and which nights don't count; None for an eval that usually fails."""
    if definition.policy is Policy.USUALLY_FAILS:
        return None
    action = "promote" if definition.policy is Policy.USUALLY_PASSES else "demote"
    catalog = Catalog(config=context.config, environ=context.environ)
    try:
        report = make_promotion_report(history, catalog, (definition,), action)  # type: ignore[arg-type]
    except DemeanorError:
        return None
    return report if report.candidates else None


def _failures(history: SqlHistory, run: str, name: str) -> list[tuple[Failure, str]]:
    """The failures of the latest run, grouped by reason, with their outcome."""
    trials = history.trials(run, name=name)
    return [(failure, "fail") for failure in failed_by_reason(trials)] + [
        (failure, "void") for failure in void_by_reason(trials)
    ]
