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
    environ = {name: "set" for eval_ in evals for name in eval_.scenario.requires_env}
    plan = plan_evals(catalog, evals, RunRequest(kind="nightly", policy="all"), environ)
    return {
        eval_.name: tuple(str(c.subject) for c in plan.cells if c.eval.name == eval_.name and not c.skipped)
        for eval_ in evals
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
    asked = {eval_.name: eval_ for eval_ in evals if eval_.policy is BEFORE[action]}
    enabled = enabled_subjects(catalog, list(asked.values()))
    nights = counted_nights(history, night_filter(catalog.config))
    cells = tuple(nights.cells(history, asked, chosen.nights)) if asked else ()
    runs = [(night.info.started, night.name) for night in nights.nights]
    if action == "promote":
        candidates = promote(cells, enabled, rule=chosen.name, nights=runs)
        candidates = _hold_back(candidates, _stale(candidates, asked, cells))
        ready = [asked[candidate.eval] for candidate in candidates if candidate.answer == "promote"]
        candidates = _hold_back(candidates, uncalibrated(history, ready, catalog.config))
    else:
        candidates = demote(cells, enabled, rule=chosen.name, nights=runs)
    shared = shared_policies(asked.values())
    candidates = _hold_back(candidates, _not_editable(candidates, asked, action, shared))
    candidates = tuple(
        replace(_with_evidence(candidate, cells, chosen), shared=shared.get(candidate.eval, ()))
        for candidate in candidates
    )
    trials = _usual_trials(candidates) or nights.filter.trials
    return PromotionReport(
        action=action,
        rule=chosen.name,
        candidates=candidates,
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


def _hold_back(candidates: Sequence[Candidate], why: Mapping[str, str]) -> tuple[Candidate, ...]:
    """The candidates; those with a reason wait, after those that are ready."""
    held = [
        replace(candidate, answer="wait", missing=(why[candidate.eval], *candidate.missing))
        for candidate in candidates
        if candidate.eval in why
    ]
    kept = [candidate for candidate in candidates if candidate.eval not in why]
    ready = [candidate for candidate in kept if candidate.answer in BEFORE]
    return (*ready, *held, *(candidate for candidate in kept if candidate.answer not in BEFORE))


def _stale(candidates: Sequence[Candidate], evals: Mapping[str, Eval], cells: Sequence[RunCell]) -> dict[str, str]:
    """An eval that was edited after its last night has no nights of its own yet."""
    ready = [evals[candidate.eval] for candidate in candidates if candidate.answer == "promote"]
    hashes = eval_hashes(ready) if ready else {}
    latest = {cell.eval: cell.eval_hash for cell in cells if cell.judged and cell.eval_hash}
    why = "it was edited after its last night, so its nights don't count"
    return {name: why for name, own in hashes.items() if own and latest.get(name, own) != own}


def _not_editable(
    candidates: Sequence[Candidate], evals: Mapping[str, Eval], action: Action, shared: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """The evals that are ready, but whose policy can't be edited, or is shared with an eval that is not ready."""
    ready = {candidate.eval for candidate in candidates if candidate.answer == action}
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


def _with_evidence(candidate: Candidate, cells: Iterable[RunCell], rule: PolicyRule) -> Candidate:
    """Add the commits and branches of the nights that count, and the error rates for the trials that were made."""
    nights = {night.run for night in candidate.nights if "before" not in night.states.values()}
    own = [
        cell
        for cell in cells
        if cell.eval == candidate.eval and cell.run in nights and cell.subject in (candidate.counts or {})
    ]
    return replace(
        candidate,
        commits=tuple(dict.fromkeys(cell.commit for cell in own if cell.commit)),
        branches=tuple(dict.fromkeys(cell.branch for cell in own if cell.branch)),
        error_rates=(
            rule.error_rates(subjects=max(1, len(candidate.counts or {})), trials=candidate.trials)
            if candidate.trials and candidate.answer in BEFORE
            else None
        ),
    )


def _usual_trials(candidates: Sequence[Candidate]) -> int | None:
    """The most frequent number of trials that the candidates have in a night; None if there is none."""
    numbers = Counter(candidate.trials for candidate in candidates if candidate.trials)
    return numbers.most_common(1)[0][0] if numbers else None


def keep_change(
    history: History, action: Action, candidate: Candidate, own: Eval, *, run: str, commit: str | None
) -> KeptDecision:
    """Record that a policy was changed, with the evidence; return the decision."""
    decision = KeptDecision(
        made=datetime.now(UTC).isoformat(timespec="milliseconds"),
        ruling=action,
        eval=candidate.eval,
        answer=action,
        rule=candidate.rule,
        reason=candidate.reason,
        run=run or None,
        commit=commit,
        eval_hash=eval_hashes([own]).get(candidate.eval, ""),
        evidence={
            "counts": {subject: list(counts) for subject, counts in (candidate.counts or {}).items()},
            "nights": [night.run for night in candidate.nights],
            "trials": candidate.trials,
            "commits": list(candidate.commits),
            "branches": list(candidate.branches),
            "changes": [f"{change.part} in {change.run}" for change in candidate.changes],
        },
    )
    history.add_decision(decision)
    return decision


def keep_in_file(root: Path, report: PromotionReport) -> None:
    """Record the changes in the project too, so that CI knows them whatever history it uses."""
    kept = {**read_promotions(root)}
    made = datetime.now(UTC).isoformat(timespec="milliseconds")
    for candidate in report.ready:
        kept.pop(candidate.eval, None)
        if report.action == "promote":
            nights = [night.run for night in candidate.nights]
            kept[candidate.eval] = {"made": made, "rule": candidate.rule, "reason": candidate.reason, "nights": nights}
    write_promotions(root, kept)
