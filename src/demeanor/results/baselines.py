"""The baseline of an eval: what the latest nights found of it, as it is defined now."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from demeanor.core.values.errors import DemeanorError
from demeanor.core.values.eval import Eval
from demeanor.core.values.fingerprints import eval_hash
from demeanor.core.values.history import RunCell
from demeanor.core.values.ports import History
from demeanor.core.values.trial import Plan
from demeanor.decide.nights import NIGHTS, Baseline, baseline_of, correlation_of, rate_histories
from demeanor.results.nights import CountedNights
from demeanor.runner import TemplateCache, temporary_templates
from demeanor.statistics import NightCorrelation

_NIGHTS = 3 * NIGHTS
"""How many nights to search for the nights of an eval, because some may lack it."""


def eval_hashes(evals: Iterable[Eval]) -> dict[str, str]:
    """By name: the hash of each eval as it is defined now; empty if its workspace can't be built here."""

    async def hash_of(eval_: Eval, cache: TemplateCache) -> str:
        try:
            template = await cache.get(eval_.scenario, where=eval_.source.path)
        except DemeanorError:
            return ""
        return eval_hash(eval_, template.tree)

    async def all_hashes() -> dict[str, str]:
        with temporary_templates() as cache:
            return {eval_.name: await hash_of(eval_, cache) for eval_ in evals}

    return asyncio.run(all_hashes())


def latest_nights(history: History, plan: Plan, nights: CountedNights) -> tuple[RunCell, ...]:
    """The latest nights of the evals of a plan."""
    evals = {cell.eval.name: cell.eval for cell in plan.cells}
    return tuple(nights.cells(history, evals, _NIGHTS)) if evals else ()


def recent_correlation(history: History) -> NightCorrelation:
    """How alike the trials of a night are, by the last nights of all evals."""
    runs = {run.name for run in history.runs(kind="nightly", limit=NIGHTS)}
    return correlation_of(history.nightly_cells(None, runs=runs) if runs else ())


def baselines_of(
    plan: Plan, nights: Iterable[RunCell], hashes: Mapping[str, str], *, correlation: float = 0.0
) -> dict[str, Baseline]:
    """By cell: its baseline since its rate last changed, if any night ran the eval as it is defined now.

    The trials of a cell in a night have this correlation.
    """
    by_eval: dict[str, list[RunCell]] = {}
    by_cell: dict[str, list[RunCell]] = {}
    for cell in nights:
        by_eval.setdefault(cell.eval, []).append(cell)
        by_cell.setdefault(f"{cell.eval}/{cell.subject}", []).append(cell)
    began = {
        f"{name}/{subject}": course.points[-1].began
        for name, nights_of_eval in by_eval.items()
        for subject, course in rate_histories(nights_of_eval, correlation).items()
        if course.points
    }
    baselines = {}
    for own in plan.cells:
        baseline = baseline_of(
            by_cell.get(own.id, ()), eval_hash=hashes.get(own.eval.name, ""), began=began.get(own.id)
        )
        if baseline is not None:
            baselines[own.id] = baseline
    return baselines


def edited_since(nights: Iterable[RunCell], hashes: Mapping[str, str]) -> set[str]:
    """The evals that nights have run, but none as it is defined now: they were edited since."""
    hashes_before: dict[str, set[str]] = {}
    for cell in nights:
        if cell.judged:
            hashes_before.setdefault(cell.eval, set()).add(cell.eval_hash)
    return {
        name for name, own in hashes.items() if own and name in hashes_before and not hashes_before[name] & {own, ""}
    }
