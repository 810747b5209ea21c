"""Run trials of one commit of a bisection. All trials of a commit are in one run, however often it is tested."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from demeanor.core.values.eval import Eval
from demeanor.core.values.record import Record, last_attempts
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.usage import total
from demeanor.core.values.verdict import Void
from demeanor.runner import UI, Catalog, PreparedRun, RunResult, execute, plan_evals, prepare
from demeanor.statistics import Tries
from demeanor.vcs import Checkout


@dataclass(frozen=True, kw_only=True, slots=True)
class Visited:
    """A commit that was tested."""

    run: PreparedRun
    """The run of its trials."""

    planned: int
    """Trials that were asked for."""

    records: tuple[Record, ...]
    """Every attempt."""

    notes: tuple[str, ...] = ()
    """What the user should know about its run."""

    @property
    def trials(self) -> tuple[Record, ...]:
        """The last attempt of each trial."""
        return last_attempts(self.records)

    @property
    def tries(self) -> Tries:
        """The trials that were judged."""
        return tries_of(self.trials)

    @property
    def fingerprints(self) -> set[str]:
        """The fingerprints of the subject."""
        return {record.fingerprint for record in self.trials if not isinstance(record.verdict, Void)}

    @property
    def why_void(self) -> str:
        """Why none of its trials was judged."""
        voids = [record.verdict.reason for record in self.trials if isinstance(record.verdict, Void)]
        return f"all its trials are void: {voids[-1]}" if voids else "none of its trials was run"


def tries_of(trials: Sequence[Record]) -> Tries:
    """The judged ones of some trials."""
    outcomes = [record.verdict.outcome for record in trials]
    return Tries(outcomes.count("pass"), outcomes.count("fail"))


def visit(
    visited: Visited | None,
    checkout: Checkout,
    eval_: Eval,
    request: RunRequest,
    environ: Mapping[str, str],
    *,
    results: Path,
    trials: int,
    ui: UI,
) -> tuple[Visited, RunResult]:
    """Run `trials` more trials of a commit; void trials of earlier visits are retried."""
    earlier = visited.run if visited else None
    planned = (visited.planned if visited else 0) + trials
    asked = replace(request, trials=planned)
    catalog = Catalog(config=checkout.config, environ=environ)
    plan = plan_evals(catalog, [eval_], asked, environ)
    run = prepare(
        catalog,
        plan,
        asked,
        earlier.folder if earlier else results,
        info=earlier.info if earlier else None,
        commit=checkout.commit,
    )
    if visited:  # the budget is for this visit alone
        run = replace(run, limits=run.limits.plus(total(record.spent for record in visited.records).spent))
    result = execute(run, ui=ui)
    return Visited(run=run, planned=planned, records=result.records, notes=result.notes), result
