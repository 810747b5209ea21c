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
from demeanor.decide.promotion import DEFAULT, Candidate, PolicyRule, demote, policy_rule, promote
from demeanor.define import read_promotions, shared_policies, with_policy, write_promotions
from demeanor.reports.promotion.report import PromotionReport
from demeanor.results import CountedNights, counted_nights, eval_hashes, night_filter, uncalibrated
from demeanor.runner import Catalog, plan_evals

Action: TypeAlias = Literal["promote", "demote"]

BEFORE: Mapping[Action, Policy] = {"promote": Policy.USUALLY_PASSES, "demote": Policy.ALWAYS_PASSES}
"""The policy that an eval has before the change."""

TARGETS: Mapping[Action, Policy] = {"promote": Policy.ALWAYS_PASSES, "demote": Policy.USUALLY_PASSES}
"""The policy after the change."""

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
    history: History,
    catalog: Catalog,
    evals: Sequence[Eval],
    action: Action,
    *,
    rule: str | None = None,
) -> PromotionReport:
    """Decide on each eval that has the right policy."""
    chosen = policy_rule(action, rule or DEFAULT)
    across = catalog.config.nightly.across
    asked = {one.name: one for one in evals if one.policy is BEFORE[action]}
    enabled = enabled_subjects(catalog, list(asked.values()))
    nights = counted_nights(history, night_filter(catalog.config))
    cells = _read_cells(history, nights, asked, enabled, recent=chosen.name == "classic")
    runs = [(run.info.started, run.name) for run in nights.nights]
    if action == "promote":
        found = promote(cells, enabled, rule=chosen.name, nights=runs, across=across)
        found = _hold_back(found, _stale(found, asked, cells))
        ready = [asked[one.eval] for one in found if one.answer == "promote"]
        found = _hold_back(found, uncalibrated(history, ready, catalog.config))
    else:
        found = demote(cells, enabled, rule=chosen.name, nights=runs)
    shared = shared_policies(asked.values())
    found = _hold_back(found, _not_editable(found, asked, action, shared))
    found = tuple(replace(_with_evidence(one, cells, chosen), shared=shared.get(one.eval, ())) for one in found)
    return PromotionReport(
        action=action,
        rule=chosen.name,
        candidates=found,
        nights=len(nights.nights),
        characteristics=chosen.error_rates(
            subjects=max((len(names) for names in enabled.values()), default=1) or 1,
            trials=_usual_trials(found) or nights.filter.trials,
        ),
        notes=nights.notes,
        across=across,
    )


def _read_cells(
    history: History,
    nights: CountedNights,
    evals: Mapping[str, Eval],
    enabled: Mapping[str, Sequence[str]],
    *,
    recent: bool,
) -> tuple[RunCell, ...]:
    """The cells that the rule needs: with `recent`, only those of the latest nights, to read less of a long history."""
    if not evals:
        return ()
    if not recent:
        return tuple(nights.cells(history, evals))
    latest = tuple(nights.cells(history, evals, _RECENT_NIGHTS))
    judged: dict[tuple[str, str], set[str]] = {}
    for cell in latest:
        judged.setdefault((cell.eval, cell.run), set()).add(cell.subject)
    complete = Counter(name for (name, _), subjects in judged.items() if subjects >= set(enabled[name]))
    sparse = {name: own for name, own in evals.items() if complete[name] < _RECENT_NIGHTS}
    if not sparse:
        return latest
    more = nights.cells(history, sparse, _MORE_NIGHTS)
    return (*more, *(cell for cell in latest if cell.eval not in sparse))


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
