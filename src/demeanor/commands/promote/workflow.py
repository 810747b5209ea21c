"""Find the evals to promote or demote in the history, and record the changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal, TypeAlias

from demeanor.commands.promote.report import Candidate, PromotionReport
from demeanor.commands.promote.rules import DEFAULT, demote, policy_rule, promote
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
"""The policy that an eval has before the change."""

_RECENT_NIGHTS = 10
"""Nights that the rule `classic` needs if every subject was judged in all of them."""

_MORE_NIGHTS = 60
"""Nights to read for evals with incomplete nights."""


def enabled_subjects(catalog: Catalog, evals: Sequence[Eval]) -> dict[str, tuple[str, ...]]:
    """Eval → the subjects of nightly runs, even if this machine lacks something to run them."""
    wanted = {name: "set" for one in evals for name in one.scenario.requires_env}
    plan = plan_evals(catalog, evals, RunRequest(kind="nightly", policy="all"), wanted)
    return {
        one.name: tuple(str(c.subject) for c in plan.cells if c.eval.name == one.name and not c.skipped)
        for one in evals
    }


def make_promotion_report(
    history: History, catalog: Catalog, evals: Sequence[Eval], action: Action, *, rule: str | None = None
) -> PromotionReport:
    """Decide on each eval that has the right policy."""
    chosen = policy_rule(action, rule or DEFAULT)
    asked = {one.name: one for one in evals if one.policy is BEFORE[action]}
    enabled = enabled_subjects(catalog, list(asked.values()))
    runs = history.runs(kind="nightly")
    nights = [(run.info.started, run.name) for run in reversed(runs)]
    cells = _nights(history, enabled, recent=chosen.name == "classic")
    found = (promote if action == "promote" else demote)(cells, enabled, rule=chosen.name, nights=nights)
    subjects = max((len(names) for names in enabled.values()), default=1)
    return PromotionReport(
        action=action,
        rule=chosen.name,
        candidates=_hold_back_edited(found, asked, cells) if action == "promote" else found,
        nights=len(runs),
        characteristics=chosen.error_rates(subjects=max(1, subjects)),
    )


def _nights(history: History, enabled: Mapping[str, Sequence[str]], *, recent: bool) -> tuple[RunCell, ...]:
    """The nights that the rule needs: with `recent`, only the latest, because reading a long history is slow."""
    if not enabled:
        return ()
    if not recent:
        return history.nightly_cells(None, evals=enabled)
    latest = history.nightly_cells(_RECENT_NIGHTS, evals=enabled)
    judged: dict[tuple[str, str], set[str]] = {}
    for cell in latest:
        if cell.judged:
            judged.setdefault((cell.eval, cell.run), set()).add(cell.subject)
    complete = Counter(name for (name, _), subjects in judged.items() if subjects >= set(enabled[name]))
    sparse = {name for name in enabled if complete[name] < _RECENT_NIGHTS}
    if not sparse:
        return latest
    return (*history.nightly_cells(_MORE_NIGHTS, evals=sparse), *(cell for cell in latest if cell.eval not in sparse))


def _hold_back_edited(
    found: Sequence[Candidate], evals: Mapping[str, Eval], cells: Sequence[RunCell]
) -> tuple[Candidate, ...]:
    """An eval that was edited after its last night has no nights of its own yet: it waits."""
    ready = [evals[one.eval] for one in found if one.answer == "promote"]
    hashes = eval_hashes(ready) if ready else {}
    latest = {cell.eval: cell.eval_hash for cell in cells if cell.judged and cell.eval_hash}
    stale = {name for name, own in hashes.items() if own and latest.get(name, own) != own}
    why = "it was edited after its last night, so its nights don't count"
    kept = [one for one in found if one.eval not in stale]
    waiting = [replace(one, answer="wait", missing=(why, *one.missing)) for one in found if one.eval in stale]
    first = [one for one in kept if one.answer == "promote"]
    return (*first, *waiting, *(one for one in kept if one.answer != "promote"))


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
    """The ALWAYS_PASSES evals without a recorded promotion, and whether any promotion is recorded."""
    promoted, demoted = history.last_decisions("promote"), history.last_decisions("demote")
    standing = {name for name, one in promoted.items() if name not in demoted or one.made >= demoted[name].made}
    always = {one.name for one in evals if one.policy is Policy.ALWAYS_PASSES}
    return always - standing, bool(promoted)
