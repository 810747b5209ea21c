"""Evals proven on a checkout: so many trials each, or as many as a gate's rule asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from demeanor.commands.gate.workflow import GateState
from demeanor.commands.run.policies import decide
from demeanor.commands.run.tallies import tally
from demeanor.config.config import Config
from demeanor.core.eval import Eval
from demeanor.core.record import Record
from demeanor.core.run_request import RunRequest
from demeanor.core.tally import Decision, Tally
from demeanor.core.trial import Plan
from demeanor.runner.budget import out_of_money
from demeanor.runner.catalog import Catalog
from demeanor.runner.execute import execute, prepare
from demeanor.runner.plan import DEFAULT_TIMEOUT, plan_evals
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
    run = prepare(catalog, plan, request, RunFolder(folder), in_history=False)
    result = execute(run, ui=ui) if state is None else execute(run, ui=ui, watch=state.watch, more=state.round)
    if result.interrupted:
        raise KeyboardInterrupt
    records = result.records
    said = state.decisions() if state else {}
    counted = [tally(cell, records) for cell in (state.planned() if state else plan).cells]
    return Verification(
        found=tuple((one, said.get((one.eval, one.subject)) or decide(one)) for one in counted),
        records=records,
        stopped=result.stopped or out_of_money(records),
        notes=result.notes,
    )


def _state(plan: Plan, config: Config, request: RunRequest, rule: str) -> GateState:
    """A gate without a past: what was is what is to be mended."""
    return GateState(
        plan=Plan(cells=tuple(replace(cell, trials=()) for cell in plan.cells)),
        rule=rule,
        timeout=config.timeout or DEFAULT_TIMEOUT,
        overruled=request.timeout,
    )
