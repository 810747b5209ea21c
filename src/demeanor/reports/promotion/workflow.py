"""Find the evals to promote or demote in the history, and record the changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, TypeAlias

from demeanor.core.values.errors import BadInput
from demeanor.core.values.eval import Eval
from demeanor.core.values.history import KeptDecision, RunCell
from demeanor.core.values.policy import Policy
from demeanor.core.values.ports import History
from demeanor.core.values.run_request import RunRequest
from demeanor.decide.promotion import DEFAULTS, Candidate, PolicyRule, demote, flapping, policy_rule, promote
from demeanor.define import read_promotions, shared_policies, with_policy, write_promotions
from demeanor.reports.promotion.report import Flapping, PromotionReport
from demeanor.results import counted_nights, eval_hashes, night_filter, uncalibrated
from demeanor.runner import Catalog, plan_evals

Action: TypeAlias = Literal["promote", "demote"]

BEFORE: Mapping[Action, Policy] = {"promote": Policy.USUALLY_PASSES, "demote": Policy.ALWAYS_PASSES}
"""The policy that an eval has before the change."""

TARGETS: Mapping[Action, Policy] = {"promote": Policy.ALWAYS_PASSES, "demote": Policy.USUALLY_PASSES}
"""The policy after the change."""

_RATES = (0.99, 0.97, 0.95)
"""The true rates for which it is told how often an eval is promoted and demoted again."""


def enabled_subjects(catalog: Catalog, evals: Sequence[Eval]) -> dict[str, tuple[str, ...]]:
    """Eval → the subjects of nightly runs, even if this machine lacks something to run them."""
    wanted = {name: "set" for one in evals for name in one.scenario.requires_env}
    plan = plan_evals(catalog, evals, RunRequest(kind="nightly", policy="all"), wanted)
    return {
        one.name: tuple(str(c.subject) for c in plan.cells if c.eval.name == one.name and not c.skipped)
        for one in evals
    }


def make_promotion_report(
    history: History,
    catalog: Catalog,
    evals: Sequence[Eval],
    action: Action,
    *,
    rule: str | None = None,
) -> PromotionReport:
    """Decide on each eval that has the right policy."""
    chosen = policy_rule(action, rule or DEFAULTS[action])
    asked = {one.name: one for one in evals if one.policy is BEFORE[action]}
    enabled = enabled_subjects(catalog, list(asked.values()))
    nights = counted_nights(history, night_filter(catalog.config))
    cells = tuple(nights.cells(history, asked, chosen.nights)) if asked else ()
    runs = [(night.info.started, night.name) for night in nights.nights]
    if action == "promote":
        found = promote(cells, enabled, rule=chosen.name, nights=runs)
        found = _hold_back(found, _stale(found, asked, cells))
        ready = [asked[one.eval] for one in found if one.answer == "promote"]
        found = _hold_back(found, uncalibrated(history, ready, catalog.config))
    else:
        found = demote(cells, enabled, rule=chosen.name, nights=runs)
    shared = shared_policies(asked.values())
    found = _hold_back(found, _not_editable(found, asked, action, shared))
    found = tuple(replace(_with_evidence(one, cells, chosen), shared=shared.get(one.eval, ())) for one in found)
    trials = _usual_trials(found) or nights.filter.trials
    return PromotionReport(
        action=action,
        rule=chosen.name,
        candidates=found,
        nights=len(nights.nights),
        characteristics=chosen.error_rates(
            subjects=max((len(names) for names in enabled.values()), default=1) or 1, trials=trials
        ),
        flapping=_flapping(action, chosen, trials),
        notes=nights.notes,
    )


def _flapping(action: Action, chosen: PolicyRule, trials: int) -> tuple[Flapping, ...]:
    """How often evals are promoted and demoted again, with the default rule of the other direction."""
    other: Action = "demote" if action == "promote" else "promote"
    rules = {action: chosen, other: policy_rule(other, DEFAULTS[other])}
    rates = ((rate, flapping(rules["promote"], rules["demote"], rate, trials)) for rate in _RATES)
    return tuple(
        Flapping(rate=rate, promotion=rules["promote"].name, demotion=rules["demote"].name, a_year=round(often, 2))
        for rate, often in rates
        if often is not None
    )


def _hold_back(found: Sequence[Candidate], why: Mapping[str, str]) -> tuple[Candidate, ...]:
    """The candidates; those with a reason wait, after those that are ready."""
    held = [replace(one, answer="wait", missing=(why[one.eval], *one.missing)) for one in found if one.eval in why]
    kept = [one for one in found if one.eval not in why]
    ready = [one for one in kept if one.answer in BEFORE]
    return (*ready, *held, *(one for one in kept if one.answer not in BEFORE))


def _stale(found: Sequence[Candidate], evals: Mapping[str, Eval], cells: Sequence[RunCell]) -> dict[str, str]:
    """An eval that was edited after its last night has no nights of its own yet."""
    ready = [evals[one.eval] for one in found if one.answer == "promote"]
    hashes = eval_hashes(ready) if ready else {}
    latest = {cell.eval: cell.eval_hash for cell in cells if cell.judged and cell.eval_hash}
    why = "it was edited after its last night, so its nights don't count"
    return {name: why for name, own in hashes.items() if own and latest.get(name, own) != own}


def _not_editable(
    found: Sequence[Candidate], evals: Mapping[str, Eval], action: Action, shared: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """The evals that are ready, but whose policy can't be edited, or is shared with an eval that is not ready."""
    ready = {one.eval for one in found if one.answer == action}
    why = {}
    for name in ready:
        others = [other for other in shared.get(name, ()) if other not in ready]
        if others and action == "promote":
            why[name] = f"it shares its policy argument with evals that are not ready: {', '.join(others[:5])}"
            continue
        try:
            with_policy(evals[name], TARGETS[action])
        except BadInput as error:
            why[name] = f"its policy can't be changed by this command: {error}"
    return why


def _with_evidence(one: Candidate, cells: Iterable[RunCell], rule: PolicyRule) -> Candidate:
    """Add the commits and branches of the nights that count, and the error rates for the trials that were made."""
    nights = {night.run for night in one.nights if "before" not in night.states.values()}
    own = [
        cell for cell in cells if cell.eval == one.eval and cell.run in nights and cell.subject in (one.counts or {})
    ]
    return replace(
        one,
        commits=tuple(dict.fromkeys(cell.commit for cell in own if cell.commit)),
        branches=tuple(dict.fromkeys(cell.branch for cell in own if cell.branch)),
        error_rates=(
            rule.error_rates(subjects=max(1, len(one.counts or {})), trials=one.trials)
            if one.trials and one.answer in BEFORE
            else None
        ),
    )


def _usual_trials(found: Sequence[Candidate]) -> int | None:
    """The most frequent number of trials that the candidates have in a night; None if there is none."""
    numbers = Counter(one.trials for one in found if one.trials)
    return numbers.most_common(1)[0][0] if numbers else None


def keep_change(
    history: History, action: Action, one: Candidate, own: Eval, *, run: str, commit: str | None
) -> KeptDecision:
    """Record that a policy was changed, with the evidence; return the decision."""
    decision = KeptDecision(
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
            "trials": one.trials,
            "commits": list(one.commits),
            "branches": list(one.branches),
            "changes": [f"{change.part} in {change.run}" for change in one.changes],
        },
    )
    history.add_decision(decision)
    return decision


def keep_in_file(root: Path, report: PromotionReport) -> None:
    """Record the changes in the project too, so that CI knows them whatever history it uses."""
    kept = {**read_promotions(root)}
    made = datetime.now(UTC).isoformat(timespec="milliseconds")
    for one in report.ready:
        kept.pop(one.eval, None)
        if report.action == "promote":
            nights = [night.run for night in one.nights]
            kept[one.eval] = {"made": made, "rule": one.rule, "reason": one.reason, "nights": nights}
    write_promotions(root, kept)
