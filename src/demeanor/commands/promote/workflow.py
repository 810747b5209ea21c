"""The nights of the evals as they are now → who may promise more, who must promise less; and what comes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from demeanor.commands.promote.report import PromotionReport
from demeanor.commands.promote.rules import DEFAULT, DEMOTE, PROMOTE, demote, promote
from demeanor.commands.promote.values import Candidate
from demeanor.core.eval import Eval
from demeanor.core.history import KeptDecision, RunCell
from demeanor.core.policy import Policy
from demeanor.core.ports import History
from demeanor.core.run_request import RunRequest
from demeanor.runner.baselines import eval_hashes
from demeanor.runner.catalog import Catalog
from demeanor.runner.plan import plan_evals

Action: TypeAlias = Literal["promote", "demote"]

BEFORE: Mapping[Action, Policy] = {"promote": Policy.USUALLY_PASSES, "demote": Policy.ALWAYS_PASSES}
"""The policy that an eval has before."""

_ENOUGH = 10
"""Nights that settle the rule `seed` for an eval that was judged on every subject in all of them."""

_LOOK_BACK = 60
"""Nights that are looked through for the others, in which some are missing."""


def enabled_subjects(catalog: Catalog, evals: Sequence[Eval]) -> dict[str, tuple[str, ...]]:
    """By eval: the subjects that nightly runs try it on, whatever this machine lacks to try them itself."""
    wanted = {name: "set" for one in evals for name in one.scenario.requires_env}
    plan = plan_evals(catalog, evals, RunRequest(kind="nightly", policy="all"), wanted)
    return {
        one.name: tuple(str(c.subject) for c in plan.cells if c.eval.name == one.name and not c.skipped)
        for one in evals
    }


def make_promotion_report(
    history: History, catalog: Catalog, evals: Sequence[Eval], action: Action, *, rule: str | None = None
) -> PromotionReport:
    """Hold the nights of each eval against a rule."""
    name = rule or DEFAULT
    asked = {one.name: one for one in evals if one.policy is BEFORE[action]}
    enabled = enabled_subjects(catalog, list(asked.values()))
    runs = history.runs(kind="nightly")
    nights = [(run.info.started, run.name) for run in reversed(runs)]
    cells = _nights(history, enabled, seed=name == "seed")
    found = (promote if action == "promote" else demote)(cells, enabled, rule=name, nights=nights)
    rules = PROMOTE if action == "promote" else DEMOTE
    subjects = max((len(names) for names in enabled.values()), default=1)
    return PromotionReport(
        action=action,
        rule=name,
        candidates=_as_they_are_now(found, asked, cells) if action == "promote" else found,
        nights=len(runs),
        characteristics=rules[name].characteristics(subjects=max(1, subjects)),
    )


def _nights(history: History, enabled: Mapping[str, Sequence[str]], *, seed: bool) -> tuple[RunCell, ...]:
    """As much of the past as the rule can use: a long one has far more."""
    if not enabled:
        return ()
    if not seed:
        return history.nightly_cells(None, evals=enabled)
    latest = history.nightly_cells(_ENOUGH, evals=enabled)
    judged: dict[tuple[str, str], set[str]] = {}
    for cell in latest:
        if cell.judged:
            judged.setdefault((cell.eval, cell.run), set()).add(cell.subject)
    complete = Counter(name for (name, _), subjects in judged.items() if subjects >= set(enabled[name]))
    sparse = {name for name in enabled if complete[name] < _ENOUGH}
    if not sparse:
        return latest
    return (*history.nightly_cells(_LOOK_BACK, evals=sparse), *(cell for cell in latest if cell.eval not in sparse))


def _as_they_are_now(
    found: Sequence[Candidate], evals: Mapping[str, Eval], cells: Sequence[RunCell]
) -> tuple[Candidate, ...]:
    """An eval that was edited after its last night has not earned what the one before it did."""
    ripe = [evals[one.eval] for one in found if one.answer == "promote"]
    hashes = eval_hashes(ripe) if ripe else {}
    latest = {cell.eval: cell.eval_hash for cell in cells if cell.judged and cell.eval_hash}
    stale = {name for name, own in hashes.items() if own and latest.get(name, own) != own}
    why = "it was edited after its last night, so its nights are of another eval"
    kept = [one for one in found if one.eval not in stale]
    turned = [replace(one, answer="wait", missing=(why, *one.missing)) for one in found if one.eval in stale]
    first = [one for one in kept if one.answer == "promote"]
    return (*first, *turned, *(one for one in kept if one.answer != "promote"))


def keep_change(history: History, action: Action, one: Candidate, own: Eval, *, run: str, commit: str | None) -> None:
    """Record that a policy was changed, with the evidence."""
    history.add_decision(
        KeptDecision(
            made=datetime.now(UTC).isoformat(timespec="milliseconds"),
            ruling=action,
            eval=one.eval,
            answer=action,
            rule=one.rule,
            reason=one.reason,
            run=run or None,
            commit=commit,
            eval_hash=eval_hashes([own]).get(one.eval, ""),
            evidence={
                "counts": {subject: list(counts) for subject, counts in (one.counts or {}).items()},
                "nights": [night.run for night in one.nights],
                "changes": [f"{change.part} in {change.run}" for change in one.changes],
            },
        )
    )


def unrecorded(history: History, evals: Sequence[Eval]) -> tuple[set[str], bool]:
    """The evals that promise ALWAYS_PASSES without a recorded promotion; and whether any promotion is recorded."""
    promoted, demoted = history.last_decisions("promote"), history.last_decisions("demote")
    standing = {name for name, one in promoted.items() if name not in demoted or one.made >= demoted[name].made}
    always = {one.name for one in evals if one.policy is Policy.ALWAYS_PASSES}
    return always - standing, bool(promoted)
