"""Two commits tried side by side: each with a house and a run of its own, their trials interleaved."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from demeanor.commands.compare.report import CompareReport, Side, compare_report
from demeanor.commands.compare.rules import compare
from demeanor.config.config import Config
from demeanor.core.eval import Eval
from demeanor.core.history import KeptDecision
from demeanor.core.ports import History
from demeanor.core.progress import AttemptJudged, AttemptStarted, Progress
from demeanor.core.record import RunInfo
from demeanor.core.run_request import RunRequest
from demeanor.core.subject import Subject
from demeanor.core.trial import Cell, Plan
from demeanor.runner.assemble import assemble, check_sandbox, new_store, open_sandbox, run_info
from demeanor.runner.catalog import Catalog
from demeanor.runner.execute import RunContext, StopConditions, execute
from demeanor.runner.executors.shared import SharedExecutor
from demeanor.runner.planning import plan_evals
from demeanor.runner.schedule import Stop
from demeanor.vcs.checkout import Checkout, checked_out


@dataclass(frozen=True, kw_only=True, slots=True)
class CompareSide:
    """One of the two commits, ready to be tried."""

    label: str
    """`base` or `new`."""

    checkout: Checkout
    """Where it lies."""

    info: RunInfo
    """The run that its trials are kept in."""

    plan: Plan
    """What is tried."""

    context: RunContext
    """What it is tried with."""

    def shown(self, subject: str) -> str:
        """A subject of this side, for people."""
        return f"{subject} ({self.label})"


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
) -> tuple[CompareSide, CompareSide]:
    """Check both out and build both, then make everything ready; `stack` takes it all down again."""
    check_sandbox(config, request, plan_evals(Catalog(config=config, environ=environ), evals, request, environ))
    places = [stack.enter_context(checked_out(config, one, environ=environ, tell=tell)) for one in revisions]
    base, new = (
        _contender(label, place, evals, request, environ, results)
        for label, place in zip(("base", "new"), places, strict=True)
    )
    turns = asyncio.Semaphore(base.context.executor.slots)
    return _taking_turns(base, turns), _taking_turns(new, turns)


def _contender(
    label: str, place: Checkout, evals: Sequence[Eval], request: RunRequest, environ: Mapping[str, str], results: Path
) -> CompareSide:
    catalog = Catalog(config=place.config, environ=environ)
    plan = plan_evals(catalog, evals, request, environ)
    sandbox = open_sandbox(place.config, request, plan)
    store = new_store(results)
    info = replace(run_info(place.config, request), id=store.folder.name, commit=place.commit)
    own = assemble(catalog, plan, request, store, seed=info.seed, sandbox=sandbox)
    return CompareSide(label=label, checkout=place, info=info, plan=plan, context=own)


def _taking_turns(one: CompareSide, turns: asyncio.Semaphore) -> CompareSide:
    return replace(one, context=replace(one.context, executor=SharedExecutor(one.context.executor, turns)))


def joint_plan(sides: Sequence[CompareSide]) -> Plan:
    """Both plans as one, for people to watch."""
    both = zip(*(side.plan.cells for side in sides), strict=True)
    return Plan(cells=tuple(_named(side, cell) for pair in both for side, cell in zip(sides, pair, strict=True)))


def _named(side: CompareSide, cell: Cell) -> Cell:
    return replace(cell, subject=Subject(agent=side.shown(str(cell.subject)), model=""))


async def conduct_both(
    sides: Sequence[CompareSide], *, budget_usd: float | None, watch: Callable[[Progress], None], stop: Stop
) -> None:
    """Run both to the end, at the same time."""
    spent = 0.0

    def watching(side: CompareSide) -> Callable[[Progress], None]:
        def tell(news: Progress) -> None:
            nonlocal spent
            if isinstance(news, AttemptJudged):
                spent += news.record.spent.cost_usd or 0.0
                if budget_usd is not None and spent >= budget_usd:
                    stop.set(f"stopped: the budget of ${budget_usd:g} is spent (${spent:.4f})")
            watch(_shown(news, side))

        return tell

    async with asyncio.TaskGroup() as group:
        for side in sides:
            group.create_task(
                execute(side.plan, side.info, side.context, terms=StopConditions(), watch=watching(side), stop=stop)
            )


def _shown(news: Progress, side: CompareSide) -> Progress:
    if isinstance(news, AttemptStarted):
        return replace(news, subject=side.shown(news.subject))
    return replace(news, record=replace(news.record, subject=side.shown(news.record.subject)))


def tried_side(history: History, one: CompareSide) -> Side:
    """What the history has of a side that was just tried."""
    run = history.run(one.info.uid)
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
