"""The nights of the evals as they are now → who may promise more, who must promise less; and what comes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from holdfast.core.evals import Eval
from holdfast.core.history import KeptDecision, RunCell
from holdfast.core.policy import Policy
from holdfast.core.ports import History
from holdfast.core.promotion import Candidate
from holdfast.core.request import RunRequest
from holdfast.decide.promote import DEFAULT, DEMOTE, PROMOTE, demote, promote
from holdfast.report.promotion_report import PromotionReport
from holdfast.wiring.cast import Cast
from holdfast.wiring.pasts import eval_hashes
from holdfast.wiring.planning import plan_evals

Action: TypeAlias = Literal["promote", "demote"]

BEFORE: Mapping[Action, Policy] = {"promote": Policy.USUALLY_PASSES, "demote": Policy.ALWAYS_PASSES}
"""The policy that an eval has before."""

_LOOK_BACK = 30
"""Nights that the rule `seed` looks through: ten complete ones and the last seven are among them, or it has to wait."""


def enabled_subjects(cast: Cast, evals: Sequence[Eval]) -> dict[str, tuple[str, ...]]:
    """By eval: the subjects that nightly runs try it on, whatever this machine lacks to try them itself."""
    wanted = {name: "set" for one in evals for name in one.scenario.requires_env}
    plan = plan_evals(cast, evals, RunRequest(kind="nightly", policy="all"), wanted)
    return {
        one.name: tuple(str(c.subject) for c in plan.cells if c.eval.name == one.name and not c.skipped)
        for one in evals
    }


def make_promotion_report(
    history: History, cast: Cast, evals: Sequence[Eval], action: Action, *, rule: str | None = None
) -> PromotionReport:
    """Hold the nights of each eval against a rule."""
    name = rule or DEFAULT
    asked = {one.name: one for one in evals if one.policy is BEFORE[action]}
    enabled = enabled_subjects(cast, list(asked.values()))
    last = _LOOK_BACK if name == "seed" else None
    runs = history.runs(kind="nightly", limit=last)
    nights = [(run.info.started, run.name) for run in reversed(runs)]
    cells = history.nights(last, evals=set(asked)) if asked else ()
    found = (promote if action == "promote" else demote)(cells, enabled, rule=name, nights=nights)
    rules = PROMOTE if action == "promote" else DEMOTE
    subjects = max((len(names) for names in enabled.values()), default=1)
    return PromotionReport(
        action=action,
        rule=name,
        candidates=_as_they_are_now(found, asked, cells) if action == "promote" else found,
        nights=len(runs) if last is None else len(history.runs(kind="nightly")),
        characteristics=rules[name].characteristics(subjects=max(1, subjects)),
    )


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
    history.keep_decision(
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
