"""Evals proven on a checkout: so many trials each, or as many as a gate's rule asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from demeanor.commands.gate.workflow import Gating
from demeanor.commands.run.policies import decide
from demeanor.commands.run.tallies import tally
from demeanor.config.config import Config
from demeanor.core.eval import Eval
from demeanor.core.progress import Progress
from demeanor.core.record import Record
from demeanor.core.run_request import RunRequest
from demeanor.core.tally import Decision, Tally
from demeanor.core.trial import Plan
from demeanor.runner.assemble import open_house, run_info
from demeanor.runner.budget import out_of_money
from demeanor.runner.catalog import Cast
from demeanor.runner.execute import Terms, conduct
from demeanor.runner.plan import DEFAULT_TIMEOUT
from demeanor.runner.planning import plan_evals
from demeanor.runner.schedule import Stop
from demeanor.runner.ui import Helm
from demeanor.store.runs.run_folder import RunFolder


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
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
    helm: Helm,
) -> Proof:
    """Try evals with the programs of a checkout, whose configuration is `config`; all of it is kept in `folder`."""
    cast = Cast(config=config, environ=environ)
    plan = plan_evals(cast, evals, request, environ)
    gating = None if rule == "trials" else _gating(plan, config, request, rule)
    if gating is not None:
        gating.round()
        plan = gating.planned()
    store = RunFolder(folder)
    info = replace(run_info(config, request), id=folder.name, commit=commit)
    rooms = replace(open_house(cast, plan, request, store, seed=info.seed), store=store)
    stop = Stop()
    terms = Terms(budget_usd=request.budget_usd)
    with helm.watching(plan) as watch:
        work = conduct(
            plan,
            info,
            rooms,
            terms=terms,
            watch=_both(gating, watch) if gating else watch,
            stop=stop,
            more=gating.round if gating else tuple,
        )
        helm.perform(work)
    records = store.records()
    said = gating.decisions() if gating else {}
    counted = [tally(cell, records) for cell in (gating.planned() if gating else plan).cells]
    return Proof(
        found=tuple((one, said.get((one.eval, one.subject)) or decide(one)) for one in counted),
        records=records,
        stopped=stop.reason or out_of_money(records),
        notes=(*rooms.notes, *rooms.store.notes),
    )


def _gating(plan: Plan, config: Config, request: RunRequest, rule: str) -> Gating:
    """A gate without a past: what was is what is to be mended."""
    return Gating(
        plan=Plan(cells=tuple(replace(cell, trials=()) for cell in plan.cells)),
        rule=rule,
        timeout=config.timeout or DEFAULT_TIMEOUT,
        overruled=request.timeout,
    )


def _both(gating: Gating, watch: Callable[[Progress], None]) -> Callable[[Progress], None]:
    def tell(news: Progress) -> None:
        gating.watch(news)
        watch(news)

    return tell
