"""What the history knows of evals as they are now."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping

from holdfast.core.errors import HoldfastError
from holdfast.core.eval import Eval
from holdfast.core.fingerprints import eval_hash
from holdfast.core.gate import Past
from holdfast.core.history import RunCell
from holdfast.core.ports import History
from holdfast.core.trial import Plan
from holdfast.runner.baseline import NIGHTS, past_of
from holdfast.runner.template import TemplateCache

_NIGHTS = 3 * NIGHTS
"""How far back twenty nights of an eval are looked for: some nights may lack it."""


def eval_hashes(evals: Iterable[Eval]) -> dict[str, str]:
    """By name: the hash of each eval as it is now; empty where its workspace can't be laid out here."""
    cache = TemplateCache()

    async def hashed(one: Eval) -> str:
        try:
            template = await cache.get(one.scenario, where=one.source.path)
        except HoldfastError:
            return ""
        return eval_hash(one, template.tree)

    async def all_of_them() -> dict[str, str]:
        return {one.name: await hashed(one) for one in evals}

    try:
        return asyncio.run(all_of_them())
    finally:
        cache.close()


def latest_nights(history: History, plan: Plan) -> tuple[RunCell, ...]:
    """The latest nights of the evals of a plan."""
    names = {cell.eval.name for cell in plan.cells}
    return history.nights(_NIGHTS, evals=names) if names else ()


def pasts_of(plan: Plan, nights: Iterable[RunCell], hashes: Mapping[str, str]) -> dict[str, Past]:
    """By cell: what its nights found of the eval as it is now, where they know it."""
    by_cell: dict[str, list[RunCell]] = {}
    for cell in nights:
        by_cell.setdefault(f"{cell.eval}/{cell.subject}", []).append(cell)
    found = {}
    for own in plan.cells:
        past = past_of(by_cell.get(own.id, ()), eval_hash=hashes.get(own.eval.name, ""))
        if past is not None:
            found[own.id] = past
    return found


def unknown_to(nights: Iterable[RunCell], hashes: Mapping[str, str]) -> set[str]:
    """The evals that the nights know, but not as they are now: something about them was edited."""
    known: dict[str, set[str]] = {}
    for cell in nights:
        if cell.judged:
            known.setdefault(cell.eval, set()).add(cell.eval_hash)
    return {name for name, own in hashes.items() if own and name in known and not known[name] & {own, ""}}
