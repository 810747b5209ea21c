"""Verify evals on a checkout with a fixed number of trials or by the gate's plan, and compare two verifications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from demeanor.commands.fix.report import FixCell, score_of
from demeanor.config import Config
from demeanor.core.text.wording import count
from demeanor.core.values.eval import Eval
from demeanor.core.values.record import Record
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.tally import Decision, Tally
from demeanor.core.values.trial import Plan
from demeanor.core.values.verdict import Void
from demeanor.decide import decide
from demeanor.decide.comparison import p_drop
from demeanor.decide.nights import Baseline
from demeanor.reports.gate import GateState
from demeanor.results import tally
from demeanor.runner import DEFAULT_TIMEOUT, UI, Catalog, execute, out_of_money, plan_evals, prepare
from demeanor.store.runs import RunFolder

_SIGNIFICANCE = 0.05
"""An increase with a larger p-value gets a note that it may be chance."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Verification:
    """The trials of some evals, counted and decided."""

    found: tuple[tuple[Tally, Decision], ...]
    """The tally and the decision of each eval and subject, including skipped ones."""

    records: tuple[Record, ...]
    """Every attempt."""

    stopped: str | None
    """Why the run ended early; None if it did not."""

    notes: tuple[str, ...]
    """Notes about the run for the reader."""


def verify(
    evals: Sequence[Eval],
    config: Config,
    request: RunRequest,
    environ: Mapping[str, str],
    *,
    rule: str,
    folder: Path,
    ui: UI,
) -> Verification:
    """Run evals with the programs of a checkout, whose configuration is `config`, and store the run in `folder`."""
    catalog = Catalog(config=config, environ=environ)
    plan = plan_evals(catalog, evals, request, environ)
    gate = None if rule == "trials" else _gate(plan, config, request)
    if gate is not None:
        gate.round()
        plan = gate.planned()
    run = prepare(catalog, plan, request, RunFolder(folder), in_history=False)
    result = execute(run, ui=ui) if gate is None else execute(run, ui=ui, watch=gate.watch, more=gate.round)
    if result.interrupted:
        raise KeyboardInterrupt
    decisions = gate.decisions() if gate else {}
    tallies = [tally(cell, result.records) for cell in (gate.planned() if gate else plan).cells]
    return Verification(
        found=tuple(
            (cell_tally, decisions.get((cell_tally.eval, cell_tally.subject)) or decide(cell_tally))
            for cell_tally in tallies
        ),
        records=result.records,
        stopped=result.stopped or out_of_money(result.records),
        notes=result.notes,
    )


def _gate(plan: Plan, config: Config, request: RunRequest) -> GateState:
    """Return a gate with empty baselines: the past results are those that are to be fixed."""
    return GateState(
        plan=Plan(cells=tuple(replace(cell, trials=()) for cell in plan.cells)),
        pasts={cell.id: Baseline(passed=0, failed=0, nights=0) for cell in plan.cells},
        timeout=config.timeout or DEFAULT_TIMEOUT,
        timeout_override=request.timeout,
    )


def why_not_accepted(verification: Verification) -> str:
    """Return the reasons why a verification does not accept, cell by cell."""
    reasons = [
        f"{tally.eval} on {tally.subject}: {decision.reason}"
        for tally, decision in verification.found
        if decision.answer in {"reject", "undecided"}
    ]
    voids = dict.fromkeys(
        record.verdict.reason for record in verification.records if isinstance(record.verdict, Void) and record.final
    )
    stopped = [verification.stopped] if verification.stopped else []
    return "; ".join([*reasons, *voids, *stopped]) or "no trial could be run"


def failing_cells(verification: Verification) -> Mapping[tuple[str, str], Tally]:
    """Return the tallies that were rejected or have failed trials, by eval and subject."""
    return {
        (tally.eval, tally.subject): tally
        for tally, decision in verification.found
        if decision.answer == "reject" or (tally.failed and decision.answer != "skipped")
    }


def still_failing(before: Verification, after: Verification) -> str:
    """Return which failures that the policy tolerated before are still there; empty if there are none. A void trial may
    be one, which the changed agent brings about."""
    tolerated = {
        (tally.eval, tally.subject)
        for tally, decision in before.found
        if tally.failed and decision.answer not in {"reject", "skipped"}
    }
    return "; ".join(
        f"{tally.eval} on {tally.subject}: {_still_fails(tally)}"
        for tally, decision in after.found
        if (tally.eval, tally.subject) in tolerated
        and (tally.failed or tally.doubtful)
        and decision.answer != "skipped"
    )


def _still_fails(tally: Tally) -> str:
    trials = count(tally.judged + tally.doubtful, "trial")
    voids = f", of which {tally.doubtful} void" if tally.doubtful else ""
    return f"still fails in {tally.failed + tally.doubtful} of {trials}{voids}"


def compare_cells(before: Verification | None, after: Verification | None = None) -> tuple[FixCell, ...]:
    """Return a cell for each eval and subject with the scores before and after; skipped ones are left out."""
    old, new = _by_cell(before), _by_cell(after)
    return tuple(_cell(old.get(key), new.get(key)) for key in (new or old))


def chance_notes(cells: Sequence[FixCell]) -> list[str]:
    """Return a note for each cell that failed before and is accepted now, if chance could explain that."""
    return [
        f"{cell.eval} on {cell.subject}: chance alone could well explain the rise (p = {cell.p_value:.2g}); "
        "run more trials to be sure"
        for cell in cells
        if cell.before is not None
        and (cell.before.answer == "reject" or cell.before.passed < cell.before.judged)
        and cell.p_value is not None
        and cell.p_value > _SIGNIFICANCE
    ]


def _by_cell(verification: Verification | None) -> dict[tuple[str, str], tuple[Tally, Decision]]:
    outcomes = verification.found if verification else ()
    return {
        (tally.eval, tally.subject): (tally, decision) for tally, decision in outcomes if decision.answer != "skipped"
    }


def _cell(before: tuple[Tally, Decision] | None, after: tuple[Tally, Decision] | None) -> FixCell:
    (tally, _) = next(pair for pair in (after, before) if pair is not None)
    counts = [(pair[0].passed, pair[0].judged) for pair in (after, before) if pair is not None and pair[0].judged]
    return FixCell(
        eval=tally.eval,
        subject=tally.subject,
        policy=tally.policy,
        before=score_of(*before) if before else None,
        after=score_of(*after) if after else None,
        p_value=p_drop(counts[0], counts[1]) if len(counts) == 2 else None,
    )
