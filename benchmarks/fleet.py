"""How long a night takes on a fleet of workers, what it costs, and what limits it.

    python benchmarks/fleet.py PROJECT --workers 4 --workers 16 [--slots N] [--limit PROVIDER=N[/min]] [--seconds N]

The trials of the project's plan start in their order, with the durations, requests and costs of the last runs of the
same eval and subject, and within the limits of the configured providers. `--limit` tries others. docs/scale.md explains
the output.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.fleet_simulation import ProviderLimit, TrialLoad, find_bottleneck, simulate

from demeanor.config.config import Config, read_config
from demeanor.core.text.wording import count
from demeanor.core.values.history import RunCell
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Plan
from demeanor.render.numbers import duration, percent
from demeanor.results.expected_cost import earlier_cells
from demeanor.results.history import open_project_history
from demeanor.runner.catalog import Catalog
from demeanor.runner.plan import plan_evals
from demeanor.runner.selection import collect_evals, select_evals

_LIMIT = re.compile(r"([^=]+)=([1-9][0-9]*)(/min)?")


@dataclass(frozen=True, slots=True)
class PerTrial:
    """The means of earlier trials of a cell; the cost is None if no price is known."""

    seconds: float
    requests: float
    cost_usd: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload:
    """What a night will probably need."""

    trials: tuple[TrialLoad, ...]
    cost_usd: float | None
    cells: int
    new: int
    """Trials of evals that never ran."""


def main() -> None:
    """Print a row per fleet."""
    parser = argparse.ArgumentParser(description="Predict the time, the cost and the bottleneck of a night on a fleet.")
    parser.add_argument("project", nargs="?", type=Path, default=Path())
    parser.add_argument("--workers", type=int, action="append", metavar="N", help="repeatable: one row per fleet")
    parser.add_argument("--slots", type=int, default=1, metavar="N", help="attempts in parallel on each worker")
    parser.add_argument("--trials", type=int, metavar="N", help="trials per eval and subject")
    parser.add_argument("--seconds", type=float, metavar="N", help="duration of trials of evals that never ran")
    parser.add_argument(
        "--limit", action="append", default=[], metavar="PROVIDER=N[/min]", help="requests at once, or per minute"
    )
    args = parser.parse_args()
    config = read_config(args.project).at_night()
    catalog = Catalog(config=config, environ=os.environ, replaying=True)
    request = RunRequest(policy="all", kind="nightly", trials=args.trials)
    plan = plan_evals(catalog, select_evals(collect_evals(config), request), request, os.environ)
    work = workload(plan, catalog, args.seconds)
    limits = changed_limits(provider_limits(config, work), args.limit)
    cost = "cost unknown" if work.cost_usd is None else f"${work.cost_usd:.2f}"
    print(f"{count(len(work.trials), 'trial')} of {count(work.cells, 'cell')}, {cost}")
    print_fleets(work.trials, args.workers or [1], args.slots, limits)
    for name, limit in limits.items():
        requests = sum(trial.requests for trial in work.trials if trial.provider == name)
        kinds = {"at once": limit.concurrency, "per minute": limit.per_minute}
        shown = ", ".join(f"{number} {kind}" for kind, number in kinds.items() if number)
        print(f"{name}: {count(requests, 'request')}, limit: {shown or 'none'}")
    if work.new:
        print(f"{count(work.new, 'trial')} of evals that never ran: duration assumed")


def print_fleets(
    trials: Sequence[TrialLoad], fleets: Sequence[int], slots_each: int, limits: Mapping[str, ProviderLimit]
) -> None:
    """A row for each number of workers."""
    row = "{:<8} {:<6} {:<11} {:<11} {:<14} {}"
    print(row.format("workers", "slots", "wall time", "slots busy", "bottleneck", "with twice as much"))
    for workers in fleets:
        slots = workers * slots_each
        run = simulate(trials, slots, limits)
        worst = find_bottleneck(trials, slots, limits, run.seconds)
        busy = fsum(trial.end - trial.start for trial in run.trials) / max(slots * run.seconds, 1e-9)
        shown = (duration(run.seconds), percent(min(1.0, busy)), worst.name, duration(worst.seconds))
        print(row.format(workers, slots, *shown))


def workload(plan: Plan, catalog: Catalog, seconds: float | None) -> Workload:
    """What the trials of a plan will need, by earlier ones of the same cells. Trials of a new cell take `seconds`, or
    count like the mean of the others."""
    cells = [cell for cell in plan.cells if not cell.skipped]
    results = catalog.config.root / catalog.config.results
    with open_project_history(catalog.config, catalog.environ, results=results) as history:
        earlier = earlier_cells(cells, history)
    measured = {key: per_trial(ran) for key, ran in earlier.items() if ran}
    assumed = mean(list(measured.values())) if seconds is None else PerTrial(seconds, 1.0, None)
    loads: list[TrialLoad] = []
    costs: list[float | None] = []
    new = 0
    for trial in plan.trials():
        key = (trial.eval.name, str(trial.subject))
        load = measured.get(key, assumed)
        if load is None:
            raise SystemExit("no duration is known: none of these evals was run before\n  → add --seconds N")
        new += key not in measured
        loads.append(trial_load(trial.subject, load, catalog))
        costs.append(load.cost_usd)
    if not loads:
        raise SystemExit("no trial is planned")
    cost = None if set(costs) == {None} else fsum(usd or 0.0 for usd in costs)
    return Workload(trials=tuple(loads), cost_usd=cost, cells=len(cells), new=new)


def per_trial(ran: Sequence[RunCell]) -> PerTrial:
    """The means of the last runs of a cell."""
    trials = sum(cell.judged + cell.voided for cell in ran)
    seconds = fsum(cell.spent.seconds for cell in ran) / trials
    requests = sum(cell.spent.turns for cell in ran) / trials
    priced = [cell for cell in ran if not cell.unpriced and cell.spent.cost_usd is not None]
    if not priced:
        return PerTrial(seconds, requests, None)
    cost = fsum(cell.spent.cost_usd or 0.0 for cell in priced)
    return PerTrial(seconds, requests, cost / sum(cell.judged + cell.voided for cell in priced))


def mean(cells: Sequence[PerTrial]) -> PerTrial | None:
    """The mean of all cells; None if there are none."""
    if not cells:
        return None
    priced = [cell.cost_usd for cell in cells if cell.cost_usd is not None]
    return PerTrial(
        fsum(cell.seconds for cell in cells) / len(cells),
        fsum(cell.requests for cell in cells) / len(cells),
        fsum(priced) / len(priced) if priced else None,
    )


def trial_load(subject: Subject, expected: PerTrial, catalog: Catalog) -> TrialLoad:
    """What a trial asks of a slot and of its provider: the named one, that of `PROVIDER/MODEL`, or the model itself."""
    if catalog.of(subject).dialect is None:
        return TrialLoad(subject=str(subject), seconds=expected.seconds)
    named = catalog.config.models.get(subject.model, {}).get("provider")
    provider = str(named or subject.model.partition("/")[0])
    requests = max(1, round(expected.requests))
    return TrialLoad(subject=str(subject), seconds=expected.seconds, requests=requests, provider=provider)


def provider_limits(config: Config, work: Workload) -> dict[str, ProviderLimit]:
    """The configured limits of each provider that the work needs."""
    tables = {name: config.providers.get(name, {}) for name in sorted({trial.provider for trial in work.trials} - {""})}
    return {
        name: ProviderLimit(concurrency=table.get("concurrency"), per_minute=table.get("requests_per_minute"))
        for name, table in tables.items()
    }


def changed_limits(limits: Mapping[str, ProviderLimit], options: Sequence[str]) -> dict[str, ProviderLimit]:
    """The limits, with those of `--limit` instead of the configured ones."""
    changed = dict(limits)
    for text in options:
        match = _LIMIT.fullmatch(text)
        if match is None or match[1] not in limits:
            providers = ", ".join(limits) or "no trial asks one"
            raise SystemExit(f"--limit {text}: expected PROVIDER=N or PROVIDER=N/min; providers: {providers}")
        field = "per_minute" if match[3] else "concurrency"
        changed[match[1]] = replace(changed[match[1]], **{field: int(match[2])})
    return changed


if __name__ == "__main__":
    main()
