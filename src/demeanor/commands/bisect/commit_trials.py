"""One commit of a bisection, visited as often as its trials can tell something: all of them are kept in one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from demeanor.commands.run.tallies import last_attempts
from demeanor.core.eval import Eval
from demeanor.core.progress import Progress
from demeanor.core.record import Record, RunInfo
from demeanor.core.run_request import RunRequest
from demeanor.core.verdict import Void
from demeanor.runner.assemble import assemble, new_store, open_sandbox, run_info
from demeanor.runner.catalog import Catalog
from demeanor.runner.execute import StopConditions, execute
from demeanor.runner.planning import plan_evals
from demeanor.runner.schedule import Stop
from demeanor.runner.ui import UI
from demeanor.statistics.bisection import Tries
from demeanor.store.runs.run_folder import RunFolder
from demeanor.vcs.checkout import Checkout


@dataclass(kw_only=True)
class Visited:
    """A commit that was visited."""

    store: RunFolder
    """The run of its trials."""

    info: RunInfo
    """The same, as it was begun."""

    planned: int = 0
    """Trials that were asked for."""

    trials: tuple[Record, ...] = ()
    """The attempt that counts of each."""

    cost_usd: float | None = None
    """What all attempts cost, as far as known."""

    notes: tuple[str, ...] = ()
    """What a person should know of its run."""

    @property
    def tries(self) -> Tries:
        """The trials that were judged."""
        outcomes = [record.verdict.outcome for record in self.trials]
        return Tries(outcomes.count("pass"), outcomes.count("fail"))

    @property
    def fingerprints(self) -> set[str]:
        """Who was tried, as it really was."""
        return {record.fingerprint for record in self.trials if not isinstance(record.verdict, Void)}

    @property
    def why_void(self) -> str:
        """Why nothing of it was judged."""
        voids = [record.verdict.reason for record in self.trials if isinstance(record.verdict, Void)]
        return f"no trial of it can be judged: {voids[-1]}" if voids else "no trial of it was carried out"

    def note(self) -> None:
        """Take note of what its run holds."""
        records = self.store.records()
        costs = [record.spent.cost_usd for record in records if record.spent.cost_usd is not None]
        self.trials = last_attempts(records)
        self.cost_usd = sum(costs) if costs else None


def first_visit(checkout: Checkout, request: RunRequest, results: Path) -> Visited:
    """A run for a commit. Nothing of it is uncommitted, whatever its build has left."""
    store = new_store(results)
    info = replace(run_info(checkout.config, request), id=store.folder.name, commit=checkout.commit, dirty=False)
    return Visited(store=store, info=info)


def visit(
    visited: Visited,
    checkout: Checkout,
    one: Eval,
    request: RunRequest,
    environ: Mapping[str, str],
    *,
    trials: int,
    ui: UI,
) -> bool:
    """Make so many more trials of a commit; a void of an earlier visit is tried again. False where money ran out."""
    visited.planned += trials
    asked = replace(request, trials=visited.planned)
    catalog = Catalog(config=checkout.config, environ=environ)
    plan = plan_evals(catalog, [one], asked, environ)
    sandbox = open_sandbox(checkout.config, asked, plan)
    context = assemble(catalog, plan, asked, visited.store, seed=visited.info.seed, sandbox=sandbox)
    budget = None if request.budget_usd is None else request.budget_usd + (visited.cost_usd or 0.0)
    stop = Stop()
    try:
        ui.perform(
            execute(plan, visited.info, context, terms=StopConditions(budget_usd=budget), watch=_nobody, stop=stop)
        )
    finally:
        visited.note()
        visited.notes = (*context.notes, *context.store.notes)
    return stop.reason is None


def _nobody(news: Progress) -> None:
    """Single trials are not shown."""
