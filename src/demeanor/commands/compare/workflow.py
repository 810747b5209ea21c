"""Two commits tried side by side: each has its own run, and their trials interleave."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from demeanor.commands.compare.report import CompareReport, Side, compare_report
from demeanor.commands.compare.rules import compare
from demeanor.config.config import Config
from demeanor.core.eval import Eval
from demeanor.core.history import KeptDecision
from demeanor.core.ports import History
from demeanor.core.run_request import RunRequest
from demeanor.runner.assemble import check_sandbox
from demeanor.runner.catalog import Catalog
from demeanor.runner.execute import PreparedRun, prepare
from demeanor.runner.plan import plan_evals
from demeanor.vcs.checkout import Checkout, checked_out


@dataclass(frozen=True, kw_only=True, slots=True)
class CompareSide:
    """One of the two commits, ready to be tried."""

    checkout: Checkout
    """Where it is checked out."""

    run: PreparedRun
    """The run of its trials."""


def contenders(
    stack: ExitStack,
    config: Config,
    revisions: tuple[str, str],
    evals: Sequence[Eval],
    request: RunRequest,
    environ: Mapping[str, str],
    *,
    results: Path,
    tell: Callable[[str], None],
) -> dict[str, CompareSide]:
    """Check out and build both commits, then prepare their runs, `base` and `new`; `stack` removes the checkouts."""
    check_sandbox(config, request, plan_evals(Catalog(config=config, environ=environ), evals, request, environ))
    places = [stack.enter_context(checked_out(config, one, environ=environ, log=tell)) for one in revisions]
    return {
        label: _contender(place, evals, request, environ, results)
        for label, place in zip(("base", "new"), places, strict=True)
    }


def _contender(
    place: Checkout, evals: Sequence[Eval], request: RunRequest, environ: Mapping[str, str], results: Path
) -> CompareSide:
    catalog = Catalog(config=place.config, environ=environ)
    plan = plan_evals(catalog, evals, request, environ)
    return CompareSide(checkout=place, run=prepare(catalog, plan, request, results, commit=place.commit))


def tried_side(history: History, one: CompareSide) -> Side:
    """What the history has of a side that was just tried."""
    run = history.run(one.run.info.uid)
    place = one.checkout
    return Side(
        name=place.revision, kind="commit", runs=(run.name,), commit=place.commit, cells=history.cells(run.name)
    )


def make_comparison(base: Side, new: Side, *, notes: tuple[str, ...] = ()) -> CompareReport:
    """Hold two sides against each other."""
    return compare_report(base, new, compare(base.cells, new.cells), notes=notes)


def keep_comparison(history: History, report: CompareReport) -> None:
    """Keep what was found of each eval."""
    made = datetime.now(UTC).isoformat(timespec="milliseconds")
    for one in report.comparison.evals:
        history.add_decision(
            KeptDecision(
                made=made,
                ruling="compare",
                eval=one.eval,
                subject=one.subject,
                answer=one.outcome.value,
                rule="boschloo",
                reason=f"{one.base[0]} of {one.base[1]} → {one.new[0]} of {one.new[1]}, p = {one.p_value:.2g}",
                run=report.new.runs[-1] if report.new.runs else None,
                commit=report.new.commit,
                evidence={
                    "base": list(one.base),
                    "new": list(one.new),
                    "p_value": one.p_value,
                    "adjusted": one.adjusted,
                    "base_runs": list(report.base.runs),
                    "new_runs": list(report.new.runs),
                },
            )
        )
