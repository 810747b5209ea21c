"""Tokens, money and time: by night, by subject and by eval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from demeanor.core.values.errors import UsageError
from demeanor.store.history import RunTotal, run_totals, stored_price_notes, usage_by
from demeanor.web.pages.context import PageContext
from demeanor.web.pages.run_page import spent_columns

NIGHTS = 14
_MOST_EVALS = 60
_KEYS = ("cost", "tokens", "time")


def cost_page(context: PageContext, parts: Mapping[str, str], query: Mapping[str, str]) -> dict[str, Any]:
    """The last nights, or the last runs if there are no nights; `?by=` orders by cost, tokens or time."""
    history = context.history()
    by = query.get("by", "cost")
    if by not in _KEYS:
        raise UsageError(f"by={by!r}: expected cost, tokens or time")
    runs = history.runs(kind="nightly", limit=NIGHTS) or history.runs(limit=NIGHTS)
    names = [run.name for run in runs]
    state = context.state(names)
    totals = context.cached(("cost runs", tuple(names)), state, lambda: run_totals(history, names))
    subjects = context.cached(("cost subjects", tuple(names)), state, lambda: usage_by(history, "subject", names))
    evals = context.cached(("cost evals", tuple(names)), state, lambda: usage_by(history, "eval", names))
    notes = context.cached(("cost prices", tuple(names)), state, lambda: stored_price_notes(history, names))
    return {
        "by": by,
        "notes": notes,
        "keys": _KEYS,
        "nightly": bool(runs) and runs[0].info.kind == "nightly",
        "runs": [(run, totals[run.name]) for run in runs if run.name in totals],
        "subjects": _ordered(subjects, by),
        "evals": _ordered(evals, by)[:_MOST_EVALS],
        "more_evals": max(0, len(evals) - _MOST_EVALS),
        "amount": lambda total: amount(total, by),
        "most_run": max((amount(total, by) for total in totals.values()), default=0.0),
        "most_subject": max((amount(total, by) for _, _, total in subjects), default=0.0),
        "most_eval": max((amount(total, by) for _, _, total in evals), default=0.0),
    }


def cost_table(context: PageContext, parts: Mapping[str, str], query: Mapping[str, str]) -> list[dict[str, Any]]:
    """What the page shows, as rows of a file: by run, subject and eval."""
    history = context.history()
    runs = history.runs(kind="nightly", limit=NIGHTS) or history.runs(limit=NIGHTS)
    names = [run.name for run in runs]
    totals = [
        ("run", name, total.passed + total.failed + total.voided, total)
        for name, total in run_totals(history, names).items()
    ]
    for column in ("subject", "eval"):
        totals += [(column, *row) for row in usage_by(history, column, names)]
    return [
        {"by": by, "name": name, "trials": number, **spent_columns(total.spent)} for by, name, number, total in totals
    ]


def amount(total: RunTotal, by: str) -> float:
    """What bars and order are made of; unknown counts as nothing."""
    return {"cost": total.spent.cost_usd or 0.0, "tokens": float(total.spent.tokens or 0)}.get(by, total.spent.seconds)


def _ordered(totals: Sequence[tuple[str, int, RunTotal]], by: str) -> list[tuple[str, int, RunTotal]]:
    return sorted(totals, key=lambda item: (-amount(item[2], by), item[0]))
