"""Run two commits side by side, compare two sides, and record the result."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from demeanor.commands.compare.identical import outside_of_commits, refuse_unchanged
from demeanor.config import Config
from demeanor.core.values.eval import Eval
from demeanor.core.values.history import KeptDecision
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.trial import Plan
from demeanor.decide.comparison import EvalComparison
from demeanor.reports.comparison import CompareReport, Side
from demeanor.results import history_of_run
from demeanor.runner import Catalog, PreparedRun, check_sandbox, plan_evals, prepare, shared_executor
from demeanor.vcs import Checkout, checked_out, resolve

SECOND = 2
"""The trials of the second look, as a multiple of those of the first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CompareSide:
    """One of the two commits, ready to run."""

    checkout: Checkout
    """Where it is checked out."""

    run: PreparedRun
    """The run of its trials."""

    catalog: Catalog
    """Its agents and models."""


def prepare_sides(
    stack: ExitStack,
    config: Config,
    revisions: tuple[str, str],
    evals: Sequence[Eval],
    request: RunRequest,
    environ: Mapping[str, str],
    *,
    results: Path,
    log: Callable[[str], None],
    allow_identical: bool = False,
) -> tuple[dict[str, CompareSide], list[str]]:
    """Check out and build both commits, then prepare their runs, `base` and `new`; `stack` removes the checkouts.

    Subjects that are the same on both sides are left out, which the returned notes tell; an error if all are.
    """
    check_sandbox(config, request, plan_evals(Catalog(config=config, environ=environ), evals, request, environ))
    if not allow_identical:
        refuse_unchanged(config, *revisions, [resolve(config.root, revision) for revision in revisions])
    config = stack.enter_context(shared_executor(config))
    checkouts = [stack.enter_context(checked_out(config, revision, environ=environ, log=log)) for revision in revisions]
    catalogs = [Catalog(config=checkout.config, environ=environ) for checkout in checkouts]
    plans = [plan_evals(catalog, evals, request, environ) for catalog in catalogs]
    same: tuple[str, ...] = ()
    if not allow_identical:
        subjects = (str(cell.subject) for cell in plans[0].cells)
        same = outside_of_commits(subjects, list(zip(checkouts, catalogs, strict=True)))
    sides = {
        label: CompareSide(
            checkout=checkout,
            catalog=catalog,
            run=prepare(catalog, _without(plan, same), request, results, commit=checkout.commit),
        )
        for label, checkout, catalog, plan in zip(("base", "new"), checkouts, catalogs, plans, strict=True)
    }
    return sides, [f"{name} is not compared: it uses no file of a commit" for name in same]


def second_look(
    sides: Mapping[str, CompareSide], chosen: Collection[tuple[str, str]], *, results: Path
) -> dict[str, CompareSide]:
    """Both sides with a run of fresh trials of the chosen evals and subjects, twice as many as in the first look."""
    return {label: _again(side, chosen, results) for label, side in sides.items()}


def _again(side: CompareSide, chosen: Collection[tuple[str, str]], results: Path) -> CompareSide:
    request = side.run.request
    fresh = replace(request, seed=None if request.seed is None else request.seed + 1)  # not the same trials again
    cells = tuple(
        replace(cell, trials=tuple(replace(cell.trials[0], number=n + 1) for n in range(SECOND * len(cell.trials))))
        for cell in side.run.plan.cells
        if (cell.eval.name, str(cell.subject)) in chosen
    )
    return replace(side, run=prepare(side.catalog, Plan(cells=cells), fresh, results, commit=side.checkout.commit))


def _without(plan: Plan, subjects: Collection[str]) -> Plan:
    return Plan(cells=tuple(cell for cell in plan.cells if str(cell.subject) not in subjects))


def side_results(side: CompareSide) -> Side:
    """The results of a side that was just run."""
    checkout = side.checkout
    with history_of_run(side.run.folder) as history:
        cells = history.cells(side.run.info.id)
    return Side(name=checkout.revision, kind="commit", runs=(side.run.info.id,), commit=checkout.commit, cells=cells)


def compare_decisions(report: CompareReport) -> tuple[KeptDecision, ...]:
    """The result of each eval, for the history."""
    made = datetime.now(UTC).isoformat(timespec="milliseconds")
    return tuple(
        KeptDecision(
            made=made,
            ruling="compare",
            eval=eval_.eval,
            subject=eval_.subject,
            answer=eval_.outcome.value,
            rule="boschloo",
            reason=_reason(eval_),
            run=report.new.runs[-1] if report.new.runs else None,
            commit=report.new.commit,
            evidence={
                "base": list(eval_.base),
                "new": list(eval_.new),
                "again": eval_.again,
                "p_value": eval_.p_value,
                "adjusted": eval_.adjusted,
                "base_runs": list(report.base.runs),
                "new_runs": list(report.new.runs),
            },
        )
        for eval_ in report.comparison.evals
    )


def _reason(cell: EvalComparison) -> str:
    """`10 of 10 → 6 of 10, again 20 of 20 → 11 of 20, p = 0.0004`."""
    looks = [(cell.base, cell.new), *([cell.again] if cell.again else [])]
    counts = ", again ".join(f"{base[0]} of {base[1]} → {new[0]} of {new[1]}" for base, new in looks)
    return f"{counts}, p = {cell.p_value:.2g}"
