"""The page of one run: its cells with filters, sorting and trial dots; and the list of runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from demeanor.core.values.errors import UsageError
from demeanor.core.values.evidence import Spent
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.history import RunCell
from demeanor.core.values.notes import TrialNote
from demeanor.core.values.policy import Policy
from demeanor.core.values.tally import Decision, Tally
from demeanor.core.values.usage import total
from demeanor.decide import decide, exit_code
from demeanor.reports.night import tally_of
from demeanor.reports.run import LAYERS, MEANINGS, POLICIES, held_by_layer
from demeanor.results import despite_lost
from demeanor.store.history import (
    SqlHistory,
    TrialOutcome,
    count_runs,
    neighbour,
    outcomes,
    read_notes,
    run_totals,
    stored_price_notes,
    void_causes,
)
from demeanor.web.pages.context import PageContext

PAGE = 50
RUNS_PAGE = 20
_MOST_NOTES = 500
_LAYER_NAMES = {layer: f"{layer} {name}" for layer, name in LAYERS.items()}
SORTS = ("plan", "eval", "rate", "time", "tokens", "cost")
STATUSES = ("rejected", "undecided", "accepted", "skipped", "news", "void")


@dataclass(frozen=True, kw_only=True, slots=True)
class CellLine:
    """One cell of a run: counted and decided."""

    cell: RunCell
    """The cell."""

    tally: Tally
    """Its trials, counted."""

    decision: Decision
    """The decision."""

    trials: tuple[TrialOutcome, ...] = ()
    """The trials, for the dots."""

    @property
    def policy(self) -> str:
        """The policy in a word."""
        return POLICIES[self.cell.policy]

    @property
    def status(self) -> str:
        """`rejected`, `undecided`, `accepted`, `skipped` or `news`."""
        if self.decision.news:
            return "news"
        return {"reject": "rejected", "undecided": "undecided", "skipped": "skipped"}.get(
            self.decision.answer, "accepted"
        )

    @property
    def kind(self) -> str:
        """The style: an expected fail is not alarming."""
        if self.cell.policy is Policy.USUALLY_FAILS and self.status == "accepted":
            return "expected"
        return {"rejected": "bad", "undecided": "open", "news": "news", "skipped": "none"}.get(
            self.status, "mixed" if self.cell.failed else "good"
        )


def run_page(context: PageContext, parts: Mapping[str, str], query: Mapping[str, str]) -> dict[str, Any]:
    """The cells of one run, filtered and sorted, fifty at a time."""
    history = context.history()
    run = history.run(parts["run"])
    state = context.state([run.name])
    lines = context.cached(("run", run.name), state, lambda: _lines(history.cells(run.name), run.info.lost))
    causes = context.cached(("voids", run.name), state, lambda: void_causes(history, run.name))
    chosen = _sorted(_filtered(context, lines, causes, query), query.get("sort", ""))
    page, pages = _page_number(query, len(chosen), PAGE)
    shown = chosen[(page - 1) * PAGE : page * PAGE]
    trials = outcomes(history, run.name, [(line.cell.eval, line.cell.subject) for line in shown])
    lost = run.info.lost if any(line.cell.missing for line in lines) else ()
    code = exit_code(line.decision for line in lines)
    if run.info.unread and code is ExitCode.ACCEPTED:
        code = ExitCode.UNDECIDED
    spent, _, _ = total(line.cell.spent for line in lines if line.cell.attempts)
    evals, _ = context.evals()
    return {
        "run": run,
        "lines": [(line, trials.get((line.cell.eval, line.cell.subject), ())) for line in shown],
        "notes": _newest_notes(history, run.name),
        "found": len(chosen),
        "cells": len(lines),
        "code": int(code),
        "meaning": ": ".join((MEANINGS.get(code, ""), *lost, *run.info.unread)),
        "counts": {name: sum(line.status == name for line in lines) for name in STATUSES[:5]},
        "voided": sum(line.cell.voided for line in lines),
        "spent": spent,
        "price_notes": context.cached(("prices", run.name), state, lambda: stored_price_notes(history, [run.name])),
        "unpriced": sum(line.cell.unpriced for line in lines),
        "uncounted": sum(line.cell.uncounted for line in lines),
        "causes": {cause: len(cells) for cause, cells in causes.items()},
        "skipped": _skip_reasons(lines),
        "layers": held_by_layer((line.cell.layer, line.decision.answer) for line in lines) or "",
        "layer_names": _LAYER_NAMES.values(),
        "subjects": sorted({line.cell.subject for line in lines}),
        "policies": [policy.value for policy in Policy],
        "tags": sorted({tag for eval_ in evals.values() for tag in eval_.tags}),
        "statuses": STATUSES,
        "sorts": SORTS,
        "query": dict(query),
        "page": page,
        "pages": pages,
        "older": neighbour(history, run, older=True),
        "newer": neighbour(history, run, older=False),
    }


def run_table(context: PageContext, parts: Mapping[str, str], query: Mapping[str, str]) -> list[dict[str, Any]]:
    """All cells of one run that the filter leaves, as rows of a file."""
    history = context.history()
    run = history.run(parts["run"])
    causes = void_causes(history, run.name)
    lines = _lines(history.cells(run.name), run.info.lost)
    lines = _sorted(_filtered(context, lines, causes, query), query.get("sort", ""))
    return [
        {
            "run": run.name, "eval": line.cell.eval, "subject": line.cell.subject, "policy": line.cell.policy.value,
            "decision": line.status, "planned": line.cell.planned, "passed": line.cell.passed,
            "failed": line.cell.failed, "void": line.cell.voided, **spent_columns(line.cell.spent),
        }
        for line in lines
    ]  # fmt: skip


def spent_columns(spent: Spent) -> dict[str, Any]:
    """Time, tokens and cost, each None where it is not known."""
    return {
        "seconds": spent.seconds, "turns": spent.turns, "input_tokens": spent.input_tokens,
        "output_tokens": spent.output_tokens, "cost_usd": spent.cost_usd,
    }  # fmt: skip


def _newest_notes(history: SqlHistory, run: str) -> dict[tuple[str, str], list[TrialNote]]:
    """The newest note about each trial, by eval and subject, in the order of the trials."""
    newest: dict[tuple[str, str, int], TrialNote] = {}
    for note in read_notes(history, run=run, limit=_MOST_NOTES):
        newest.setdefault((note.eval, note.subject, note.number), note)
    notes: dict[tuple[str, str], list[TrialNote]] = {}
    for (name, subject, _), note in sorted(newest.items()):
        notes.setdefault((name, subject), []).append(note)
    return notes


def runs_page(context: PageContext, parts: Mapping[str, str], query: Mapping[str, str]) -> dict[str, Any]:
    """The runs, newest first, twenty at a time; `?kind=` restricts them."""
    history = context.history()
    kind = query.get("kind") or None
    if kind not in {None, "local", "ci", "nightly"}:
        raise UsageError(f"kind={kind!r}: expected local, ci or nightly")
    number = count_runs(history, kind)
    page, pages = _page_number(query, number, RUNS_PAGE)
    runs = history.runs(kind=kind, limit=page * RUNS_PAGE)[(page - 1) * RUNS_PAGE :]  # type: ignore[arg-type]
    names = [run.name for run in runs]
    totals = context.cached(("totals", *names), context.state(names), lambda: run_totals(history, names))
    return {
        "runs": [(run, totals.get(run.name)) for run in runs],
        "number": number,
        "kind": kind or "",
        "page": page,
        "pages": pages,
    }


def _lines(cells: Sequence[RunCell], lost: Sequence[str]) -> list[CellLine]:
    tallies = [(cell, despite_lost(tally_of(cell), lost)) for cell in cells]
    return [CellLine(cell=cell, tally=tally, decision=decide(tally)) for cell, tally in tallies]


def _filtered(
    context: PageContext,
    lines: Sequence[CellLine],
    causes: Mapping[str, Sequence[tuple[str, str]]],
    query: Mapping[str, str],
) -> list[CellLine]:
    status, policy, subject, cause = (query.get(name, "") for name in ("status", "policy", "subject", "cause"))
    text, tag, name = query.get("q", "").lower(), query.get("tag", ""), query.get("eval", "")
    void = set(causes.get(cause, ()))
    layer = query.get("layer", "")
    tagged = {eval_.name for eval_ in context.evals()[0].values() if tag in eval_.tags} if tag else set()
    return [
        line
        for line in lines
        if (not status or line.status == status or (status == "void" and line.cell.voided))
        and (not policy or line.cell.policy.value == policy)
        and (not subject or line.cell.subject == subject)
        and (not layer or _LAYER_NAMES.get(line.cell.layer) == layer)
        and (not cause or (line.cell.eval, line.cell.subject) in void)
        and (not tag or line.cell.eval in tagged)
        and (not name or line.cell.eval == name)
        and (not text or text in line.cell.eval.lower() or text in line.cell.subject.lower())
    ]


_ATTENTION = {"rejected": 0, "undecided": 1, "news": 2}


def _sorted(lines: list[CellLine], how: str) -> list[CellLine]:
    keys: Mapping[str, Callable[[CellLine], Any]] = {
        "attention": lambda line: (_ATTENTION.get(line.status, 3 if line.cell.failed else 4), _rate(line)),
        "eval": lambda line: (line.cell.eval, line.cell.subject),
        "rate": _rate,
        "time": lambda line: -line.cell.spent.seconds,
        "tokens": lambda line: -(line.cell.spent.tokens or 0),
        "cost": lambda line: -(line.cell.spent.cost_usd or 0),
    }
    return lines if how == "plan" else sorted(lines, key=keys.get(how, keys["attention"]))


def _rate(line: CellLine) -> float:
    return line.tally.rate.value if line.tally.rate else 2.0


def _skip_reasons(lines: Sequence[CellLine]) -> dict[str, int]:
    reasons: dict[str, int] = {}
    for line in lines:
        if line.tally.skipped is not None:
            reasons[line.tally.skipped] = reasons.get(line.tally.skipped, 0) + 1
    return reasons


def _page_number(query: Mapping[str, str], number: int, size: int) -> tuple[int, int]:
    pages = max(1, -(-number // size))
    asked = query.get("page", "1")
    return min(pages, max(1, int(asked) if asked.isdecimal() and len(asked) < 10 else 1)), pages
