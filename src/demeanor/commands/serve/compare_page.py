"""Two runs, subjects, branches or commits side by side: rates, usage, prompt and tools."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from demeanor.commands.compare.operands import sides_of
from demeanor.commands.compare.report import CompareReport, Side
from demeanor.commands.compare.workflow import make_comparison
from demeanor.commands.serve.context import PageContext
from demeanor.commands.serve.trial_files import DiffLine, diff_kind
from demeanor.commands.trace.trials import load_capture
from demeanor.core.codec import encode
from demeanor.core.errors import StoreError
from demeanor.core.exchange import Request
from demeanor.core.text import opening
from demeanor.store.history import SqlHistory
from demeanor.store.runs.run_dirs import place_of

MOST_ROWS = 100
_MOST_LINES = 400
_RECENT = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class PromptDiff:
    """How what the model was told differs, in one trial of each side."""

    system: tuple[DiffLine, ...]
    """The system prompt, as a diff; empty if it is the same."""

    tools: tuple[DiffLine, ...]
    """The definitions of the tools, as a diff; empty if they are the same."""

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
    base, new = context.cached(("sides", a, b), version, lambda: sides_of(history, a, b, context.config.root))
    state = context.state([*base.runs, *new.runs])
    report: CompareReport = context.cached(("compare", a, b), state, lambda: make_comparison(base, new))
    prompts = context.cached(("prompts", a, b), state, lambda: _prompts(context, history, base, new))
    return values | {"report": report, "prompts": prompts, "last_base": base.runs[-1], "last_new": new.runs[-1]}


def _prompts(context: PageContext, history: SqlHistory, base: Side, new: Side) -> PromptDiff | None:
    """What the first trial of an eval that both sides have was told; None if the hashes say that nothing differs."""
    hashes = [{cell.prompt_hash for cell in side.cells if cell.prompt_hash} for side in (base, new)]
    if hashes[0] == hashes[1]:
        return None
    common = [
        cell.eval for cell in new.cells if cell.judged and cell.eval in {one.eval for one in base.cells if one.judged}
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
    cell = next(one for one in reversed(side.cells) if one.eval == name and one.judged)
    record = history.trials(cell.run, name=name, subject=cell.subject)[0]
    capture = load_capture(place_of(history.run(cell.run), context.results), record, context.captures())
    return capture.exchanges[0].request if capture.exchanges else None


def _tools(request: Request) -> str:
    found = sorted(request.tools, key=lambda tool: tool.name)
    return "\n".join(json.dumps(encode(tool), indent=1, ensure_ascii=False, default=str) for tool in found)


def _diff(before: str, after: str) -> tuple[DiffLine, ...]:
    left, right = (opening(text, lines=10**5, width=300).splitlines() for text in (before, after))
    lines: Sequence[str] = list(difflib.unified_diff(left, right, "base", "new", lineterm="", n=2))
    return tuple(DiffLine(kind=diff_kind(line), text=line) for line in lines[:_MOST_LINES])
