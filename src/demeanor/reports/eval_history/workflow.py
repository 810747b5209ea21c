"""Read the history of one eval."""

from __future__ import annotations

from typing import NoReturn, cast

from demeanor.core.values.errors import UnknownName, UsageError
from demeanor.core.values.ports import History
from demeanor.core.values.record import RunKind
from demeanor.reports.eval_history.report import EvalHistory, eval_history
from demeanor.results import all_nights, cells_of_nights, recent_correlation


def make_eval_history(history: History, name: str, subject: str | None = None, *, kind: str = "nightly") -> EvalHistory:
    """The history of one eval; raises UnknownName with the nearest name if no run has this eval or subject."""
    if kind == "nightly":
        nights = all_nights(history, evals=(name,))
        cells = cells_of_nights(history, nights, (name,))
    else:
        nights, cells = (), [*history.eval_history(name, kind=None if kind == "all" else cast(RunKind, kind))]
    if not any(subject in {None, cell.subject} for cell in cells):
        _raise_unknown(history, name, subject, kind)
    # A night without this eval is a gap; other runs may be partial.
    alike = recent_correlation(history)
    return eval_history(name, cells, kind=kind, subject=subject, nights=nights, alike=alike)


def _raise_unknown(history: History, name: str, subject: str | None, kind: str) -> NoReturn:
    others = history.eval_history(name)
    if not others:
        recent = [cell.eval for run in history.runs(limit=3) for cell in history.cells(run.name)]
        raise UnknownName("eval", name, dict.fromkeys(recent), where="the history")
    subjects = dict.fromkeys(cell.subject for cell in others)
    if subject is not None and subject not in subjects:
        raise UnknownName("subject", subject, subjects, where=f"the history of {name!r}")
    kinds = " and ".join(sorted({cell.kind for cell in others}))
    raise UsageError(f"eval {name!r}: it is in {kinds} runs only, not in {kind} ones\n  → to see all runs: --kind all")
