"""The baseline of an eval: what the latest nights found of it, as it is defined now."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from demeanor.core.errors import DemeanorError
from demeanor.core.eval import Eval
from demeanor.core.fingerprints import eval_hash
from demeanor.core.history import RunCell
from demeanor.core.ports import History
from demeanor.core.trial import Plan
from demeanor.decide.night_cells import count, fingerprints, since_change
from demeanor.results.nights import CountedNights
from demeanor.runner.template import TemplateCache, temporary_templates

NIGHTS = 20
"""How many nights a baseline covers: 60 trials if a night has three, beyond which the gain is small."""

_NIGHTS = 3 * NIGHTS
"""How many nights to search for the nights of an eval, because some may lack it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Baseline:
    """The nightly results of an eval with a subject, added up."""

    passed: int
    """Trials that passed."""

    failed: int
    """Trials that failed."""

    nights: int
    """The number of nights."""

    fingerprints: tuple[str, ...] = ()
    """The subject's fingerprints in these nights, oldest first; with more than one, the nights are not comparable."""

    left_out: int = 0
    """The number of earlier nights that are left out, because the subject has changed since."""

    @property
    def judged(self) -> int:
        """The number of trials with a verdict of pass or fail."""
        return self.passed + self.failed

    @property
    def mixed(self) -> bool:
        """Whether nights with different fingerprints were added up; this must be shown next to the rate."""
        return len(self.fingerprints) > 1


def eval_hashes(evals: Iterable[Eval]) -> dict[str, str]:
    """By name: the hash of each eval as it is defined now; empty if its workspace can't be built here."""

    async def hash_of(one: Eval, cache: TemplateCache) -> str:
        try:
            template = await cache.get(one.scenario, where=one.source.path)
        except DemeanorError:
            return ""
        return eval_hash(one, template.tree)

    async def all_hashes() -> dict[str, str]:
        with temporary_templates() as cache:
            return {one.name: await hash_of(one, cache) for one in evals}

    return asyncio.run(all_hashes())


def latest_nights(history: History, plan: Plan, nights: CountedNights) -> tuple[RunCell, ...]:
    """The latest nights of the evals of a plan."""
    evals = {cell.eval.name: cell.eval for cell in plan.cells}
    return tuple(nights.cells(history, evals, _NIGHTS)) if evals else ()


def baselines_of(
    plan: Plan, nights: Iterable[RunCell], hashes: Mapping[str, str], *, across: bool = False
) -> dict[str, Baseline]:
    """By cell: its baseline, if any night ran the eval as it is defined now."""
    by_cell: dict[str, list[RunCell]] = {}
    for cell in nights:
        by_cell.setdefault(f"{cell.eval}/{cell.subject}", []).append(cell)
    found = {}
    for own in plan.cells:
        baseline = baseline_of(by_cell.get(own.id, ()), eval_hash=hashes.get(own.eval.name, ""), across=across)
        if baseline is not None:
            found[own.id] = baseline
    return found


def edited_since(nights: Iterable[RunCell], hashes: Mapping[str, str]) -> set[str]:
    """The evals that nights have run, but none as it is defined now: they were edited since."""
    known: dict[str, set[str]] = {}
    for cell in nights:
        if cell.judged:
            known.setdefault(cell.eval, set()).add(cell.eval_hash)
    return {name for name, own in hashes.items() if own and name in known and not known[name] & {own, ""}}


def baseline_of(cells: Iterable[RunCell], *, eval_hash: str, across: bool = False) -> Baseline | None:
    """The sum of the nightly cells of one eval and subject; None if no night ran the eval as it is defined now.

    Nights before an edit of the eval do not count, nor, unless `across`, nights before the subject last changed.
    """
    nights_judged = [cell for cell in cells if cell.kind == "nightly" and cell.judged]
    same = [cell for cell in nights_judged if not eval_hash or cell.eval_hash in {"", eval_hash}]
    found = sorted(same, key=lambda cell: (cell.started, cell.run))
    latest = (found if across else since_change(found))[-NIGHTS:]
    if not latest:
        return None
    passed, failed = count(latest)
    return Baseline(
        passed=passed,
        failed=failed,
        nights=len(latest),
        fingerprints=fingerprints(latest),
        left_out=len(found[-NIGHTS:]) - len(latest),
    )
