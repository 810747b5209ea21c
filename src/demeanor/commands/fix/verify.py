"""Evals proven on a checkout: so many trials each, or as many as a gate's rule asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from demeanor.commands.gate.workflow import GateState
from demeanor.commands.run.policies import decide
from demeanor.commands.run.tallies import tally
from demeanor.config.config import Config
from demeanor.core.eval import Eval
from demeanor.core.progress import Progress
from demeanor.core.record import Record
from demeanor.core.run_request import RunRequest
from demeanor.core.tally import Decision, Tally
from demeanor.core.trial import Plan
from demeanor.runner.assemble import assemble, run_info
from demeanor.runner.budget import out_of_money
from demeanor.runner.catalog import Catalog
from demeanor.runner.execute import StopConditions, execute
from demeanor.runner.plan import DEFAULT_TIMEOUT
from demeanor.runner.planning import plan_evals
from demeanor.runner.schedule import Stop
from demeanor.runner.ui import UI
from demeanor.store.runs.run_folder import RunFolder


@dataclass(frozen=True, kw_only=True, slots=True)
class Verification:
    """What the trials of some evals amount to."""

    found: tuple[tuple[Tally, Decision], ...]
    """Per eval and subject, those that were skipped included: its trials counted, and what follows."""

    records: tuple[Record, ...]
    """Every attempt."""

    stopped: str | None
    """Why it ended before its time, if so."""

    notes: tuple[str, ...]
    """What a person should know of the run."""


def prove(
    evals: Sequence[Eval],
    config: Config,
    request: RunRequest,
    environ: Mapping[str, str],
    *,
    rule: str,
    commit: str,
    folder: Path,
    ui: UI,
) -> Verification:
    """Try evals with the programs of a checkout, whose configuration is `config`; all of it is kept in `folder`."""
    catalog = Catalog(config=config, environ=environ)
    plan = plan_evals(catalog, evals, request, environ)
    state = None if rule == "trials" else _state(plan, config, request, rule)
    if state is not None:
        state.round()
        plan = state.planned()
    store = RunFolder(folder)
    info = replace(run_info(config, request), id=folder.name, commit=commit)
    rooms = replace(assemble(catalog, plan, request, store, seed=info.seed), store=store)
    stop = Stop()
    terms = StopConditions(budget_usd=request.budget_usd)
    with ui.watching(plan) as watch:
        work = execute(
            plan,
            info,
            rooms,
            terms=terms,
            watch=_both(state, watch) if state else watch,
            stop=stop,
            more=state.round if state else tuple,
        )
        ui.perform(work)
    records = store.records()
    said = state.decisions() if state else {}
    counted = [tally(cell, records) for cell in (state.planned() if state else plan).cells]
    return Verification(
        found=tuple((one, said.get((one.eval, one.subject)) or decide(one)) for one in counted),
        records=records,
        stopped=stop.reason or out_of_money(records),
        notes=(*rooms.notes, *rooms.store.notes),
    )


def _state(plan: Plan, config: Config, request: RunRequest, rule: str) -> GateState:
    """A gate without a past: what was is what is to be mended."""
    return GateState(
        plan=Plan(cells=tuple(replace(cell, trials=()) for cell in plan.cells)),
        rule=rule,
        timeout=config.timeout or DEFAULT_TIMEOUT,
        overruled=request.timeout,
    )


def _both(state: GateState, watch: Callable[[Progress], None]) -> Callable[[Progress], None]:
    def tell(news: Progress) -> None:
        state.watch(news)
        watch(news)

    return tell
