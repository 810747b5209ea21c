"""Two runs, subjects, branches or commits side by side: rates, usage, prompt and tools."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from demeanor.core.text.codec import encode
from demeanor.core.text.line_diff import DiffWork, diff_lines
from demeanor.core.text.wording import opening
from demeanor.core.values.errors import StoreError
from demeanor.core.values.exchange import Request
from demeanor.core.values.verdict import Pass
from demeanor.decide.comparison import EvalComparison
from demeanor.reports.comparison import CompareReport, Side, all_notes, latest_versions, make_comparison, sides_of
from demeanor.reports.trial import AlignedSteps, step_rows
from demeanor.results import TrialSteps, distance, load_capture, load_steps, recent_correlation
from demeanor.statistics import newcombe
from demeanor.store.history import SqlHistory, stored_price_notes
from demeanor.store.runs import place_of
from demeanor.web.pages.context import PageContext
from demeanor.web.pages.trial_files import DiffLine, diff_kind

MOST_ROWS = 100
_MOST_LINES = 400
_RECENT = 30
_MOST_TRIALS = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptDiff:
    """How what the model was told differs, in one trial of each side."""

    system: tuple[DiffLine, ...]
    """The system prompt, as a diff; empty if it is the same."""

    tools: tuple[DiffLine, ...]
    """The definitions of the tools, as a diff; empty if they are the same."""

    problem: str = ""
    """Why they can't be compared, if so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RateDifference:
    """How the pass rate of one eval differs."""

    value: float
    """New minus base."""

    low: float
    """The lower end of its interval (Newcombe), wide enough that those of all evals together are right in 95 %."""

    high: float
    """The upper end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedTrajectories:
    """A trial of each side, step by step."""

    eval: str
    """The eval's name."""

    new: TrialSteps | None = None
    """The trial of the new side."""

    base: TrialSteps | None = None
    """The nearest trial of the base."""

    steps: AlignedSteps | None = None
    """Both, aligned; None if they can't be compared."""

    problem: str = ""
    """Why they can't be compared, if so."""


def compare_page(context: PageContext, parts: Mapping[str, str], query: Mapping[str, str]) -> dict[str, Any]:
    """`?a=` is the base and `?b=` the new side; without them, a form to choose them."""
    history = context.history()
    a, b = query.get("a", "").strip(), query.get("b", "").strip()
    recent = history.runs(limit=_RECENT)
    subjects = sorted({cell.subject for run in recent[:1] for cell in context.cells(run.name)})
    values: dict[str, Any] = {"a": a, "b": b, "runs": recent, "subjects": subjects, "report": None, "most": MOST_ROWS}
    if not a or not b:
        return values
    version = history.database.version()
    base, new, changed = context.cached(("sides", a, b), version, lambda: _sides(context, history, a, b))
    state = context.state([*base.runs, *new.runs])
    report: CompareReport = context.cached(
        ("compare", a, b),
        state,
        lambda: _comparison(context, history, base, new, changed),
    )
    prompts = context.cached(("prompts", a, b), state, lambda: _prompts(context, history, base, new))
    evals = report.comparison.evals
    changes = [rate_change(cell, number=len(evals)) for cell in evals[:MOST_ROWS]]
    return values | {
        "report": report,
        "notes": all_notes(report),
        "prompts": prompts,
        "last_base": base.runs[-1],
        "last_new": new.runs[-1],
        "changes": changes,
        "trajectories": _trajectories(context, base, new, query),
    }


def _comparison(
    context: PageContext, history: SqlHistory, base: Side, new: Side, notes: tuple[str, ...]
) -> CompareReport:
    alike, margin = recent_correlation(history), context.config.statistics.margin
    return make_comparison(base, new, margin=margin, correlation=alike.value, notes=(*notes, *alike.notes))


def _sides(context: PageContext, history: SqlHistory, a: str, b: str) -> tuple[Side, Side, tuple[str, ...]]:
    """Both sides, each with one version of its subjects, and notes."""
    base, new, changed = latest_versions(*sides_of(history, a, b, context.config.root))
    return base, new, (*changed, *stored_price_notes(history, [*base.runs, *new.runs]))


def rate_change(cell: EvalComparison, *, number: int) -> RateDifference:
    """The difference of one of `number` evals, in its last look, with its interval (corrected by Bonferroni)."""
    base, new = cell.again or (cell.base, cell.new)
    low, high = newcombe(base, new, level=1 - 0.05 / number)
    return RateDifference(value=new[0] / new[1] - base[0] / base[1], low=low, high=high)


def _trajectories(context: PageContext, base: Side, new: Side, query: Mapping[str, str]) -> ComparedTrajectories | None:
    """`?eval=` and `?subject=` choose the trials: of the new side one that did not pass, of the base the nearest."""
    name, subject = query.get("eval", ""), query.get("subject", "")
    if not name:
        return None
    subjects = subject.split(" → ") if " → " in subject else [subject, subject]
    loaded = [_loaded(context, side, name, own) for side, own in zip((base, new), subjects, strict=False)]
    theirs, ours = ([steps for steps in side if steps.events is not None] for side in loaded)
    if not theirs or not ours:
        absent = next(
            (steps.absence for side in loaded for steps in side if steps.absence), "no trial has stored steps"
        )
        return ComparedTrajectories(eval=name, problem=absent)
    chosen = next((steps for steps in ours if not isinstance(steps.record.verdict, Pass)), ours[0])
    nearest = min(theirs, key=lambda steps: distance(chosen.events or (), steps.events or ()))
    return ComparedTrajectories(eval=name, new=chosen, base=nearest, steps=step_rows(chosen, nearest, ()))


def _loaded(context: PageContext, side: Side, name: str, subject: str) -> list[TrialSteps]:
    """The trials of the newest run of a side that has this eval."""
    history = context.history()
    cell = next((c for c in reversed(side.cells) if (c.eval, c.subject) == (name, subject) and c.judged), None)
    if cell is None:
        return []
    place = place_of(history.run(cell.run), context.results)
    records = history.trials(cell.run, name=name, subject=subject)[:_MOST_TRIALS]
    return [load_steps(place, record, context.captures()) for record in records]


def _prompts(context: PageContext, history: SqlHistory, base: Side, new: Side) -> PromptDiff | None:
    """What the first trial of an eval that both sides have was told; None if the hashes say that nothing differs."""
    hashes = [{cell.prompt_hash for cell in side.cells if cell.prompt_hash} for side in (base, new)]
    if hashes[0] == hashes[1]:
        return None
    common = [
        cell.eval
        for cell in new.cells
        if cell.judged and cell.eval in {other.eval for other in base.cells if other.judged}
    ]
    if not common:
        return None
    try:
        told = [_request(context, history, side, common[0]) for side in (base, new)]
    except StoreError as error:
        return PromptDiff(system=(), tools=(), problem=str(error).partition("\n")[0])
    if told[0] is None or told[1] is None:
        return PromptDiff(system=(), tools=(), problem="a trial without a model request")
    return PromptDiff(system=_diff(told[0].system, told[1].system), tools=_diff(_tools(told[0]), _tools(told[1])))


def _request(context: PageContext, history: SqlHistory, side: Side, name: str) -> Request | None:
    cell = next(cell for cell in reversed(side.cells) if cell.eval == name and cell.judged)
    record = history.trials(cell.run, name=name, subject=cell.subject)[0]
    capture = load_capture(place_of(history.run(cell.run), context.results), record, context.captures())
    return capture.exchanges[0].request if capture.exchanges else None


def _tools(request: Request) -> str:
    tools = sorted(request.tools, key=lambda tool: tool.name)
    return "\n".join(json.dumps(encode(tool), indent=1, ensure_ascii=False, default=str) for tool in tools)


def _diff(before: str, after: str) -> tuple[DiffLine, ...]:
    left, right = (opening(text, lines=10**5, width=300).splitlines() for text in (before, after))
    hunks = [line.removesuffix("\n") for line in diff_lines(left, right, DiffWork(), context=2)]
    lines = ["--- base", "+++ new", *hunks] if hunks else []
    return tuple(DiffLine(kind=diff_kind(line), text=line) for line in lines[:_MOST_LINES])
