"""Plan and history → what each trial will probably need → the forecast."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from pathlib import Path

from demeanor.commands.simulate.report import FleetForecast, Forecast
from demeanor.commands.simulate.rules import ProviderLimit, SimulatedRun, TrialLoad, find_bottleneck, simulate
from demeanor.config.config import Config
from demeanor.core.errors import UsageError
from demeanor.core.history import RunCell
from demeanor.core.trial import Cell, Plan
from demeanor.results.expected_cost import earlier_cells
from demeanor.results.history import open_project_history
from demeanor.runner.catalog import Catalog


@dataclass(frozen=True, kw_only=True, slots=True)
class Workload:
    """What a plan will probably need."""

    trials: tuple[TrialLoad, ...]
    """All trials, in the order in which they start."""

    cost_usd: float | None
    """What they cost; None if no earlier run tells."""

    cells: int
    """Combinations of an eval and a subject."""

    without_history: int
    """Trials of cells that never ran."""

    @property
    def providers(self) -> frozenset[str]:
        """The providers that answer the trials."""
        return frozenset(trial.provider for trial in self.trials if trial.requests)


@dataclass(frozen=True, slots=True)
class _PerTrial:
    """The means of earlier trials of a cell."""

    seconds: float
    requests: float
    cost_usd: float | None


def make_workload(plan: Plan, catalog: Catalog, results: Path, *, seconds: float | None) -> Workload:
    """What the trials of a plan will need, by earlier ones of the same cells.

    Trials of a new cell count like the mean of the others, or take `seconds`; raises UsageError if neither is known.
    """
    cells = [cell for cell in plan.cells if not cell.skipped]
    with open_project_history(catalog.config, catalog.environ, results=results) as history:
        earlier = earlier_cells(cells, history)
    known = {cell.id: _per_trial(earlier.get((cell.eval.name, str(cell.subject)), ())) for cell in cells}
    found = [one for one in known.values() if one is not None]
    new = _mean_of(found) if seconds is None else _PerTrial(seconds, 1.0, None)
    missing = [cell for cell in cells if known[cell.id] is None]
    if missing and new is None:
        raise UsageError(
            "no duration is known: none of these evals was run before\n"
            "  → say how long a trial takes: --seconds N, or run them once: demeanor nightly --trials 1"
        )
    loads = {cell.id: _load(cell, known[cell.id] or new, catalog) for cell in cells}
    costs = [len(cell.trials) * (one.cost_usd or 0.0) for cell in cells if (one := known[cell.id] or new) is not None]
    return Workload(
        trials=tuple(loads[f"{trial.eval.name}/{trial.subject}"] for trial in plan.trials()),
        cost_usd=fsum(costs) if any(one.cost_usd is not None for one in found) else None,
        cells=len(cells),
        without_history=sum(len(cell.trials) for cell in missing),
    )


def forecast(
    work: Workload, fleets: Sequence[tuple[int, int]], limits: Mapping[str, ProviderLimit]
) -> tuple[Forecast, SimulatedRun]:
    """The forecast for fleets, each a number of workers and of slots per worker; also the course of the first one."""
    limits = {name: limit for name, limit in limits.items() if name in work.providers}
    runs = [simulate(work.trials, workers * slots, limits) for workers, slots in fleets]
    found = []
    for (workers, slots), run in zip(fleets, runs, strict=True):
        worst = find_bottleneck(work.trials, workers * slots, limits, run.seconds)
        busy = fsum(one.end - one.start for one in run.trials) / max(workers * slots * run.seconds, 1e-9)
        found.append(
            FleetForecast(
                workers=workers,
                slots=workers * slots,
                seconds=run.seconds,
                busy=min(1.0, busy),
                bottleneck=worst.name,
                seconds_with_twice=worst.seconds,
                waited=run.waited,
            )
        )
    requests = {
        name: sum(trial.requests for trial in work.trials if trial.provider == name) for name in sorted(work.providers)
    }
    report = Forecast(
        trials=len(work.trials),
        cells=work.cells,
        without_history=work.without_history,
        cost_usd=work.cost_usd,
        requests=requests,
        limits=limits,
        fleets=tuple(found),
    )
    return report, runs[0]


def provider_limits(config: Config) -> dict[str, ProviderLimit]:
    """The limits of the providers of the configuration."""
    found = {}
    for name, table in config.providers.items():
        limit = ProviderLimit(
            concurrency=table.get("concurrency"),
            per_minute=table.get("requests_per_minute"),
        )
        if limit != ProviderLimit():
            found[name] = limit
    return found


def _per_trial(ran: Sequence[RunCell]) -> _PerTrial | None:
    """The means of the last runs of a cell; None if it has none."""
    if not ran:
        return None
    trials = sum(cell.judged + cell.voided for cell in ran)
    priced = [cell for cell in ran if not cell.unpriced and cell.spent.cost_usd is not None]
    cost = fsum(cell.spent.cost_usd or 0.0 for cell in priced)
    return _PerTrial(
        fsum(cell.spent.seconds for cell in ran) / trials,
        sum(cell.spent.turns for cell in ran) / trials,
        cost / sum(cell.judged + cell.voided for cell in priced) if priced else None,
    )


def _mean_of(found: Sequence[_PerTrial]) -> _PerTrial | None:
    if not found:
        return None
    priced = [one.cost_usd for one in found if one.cost_usd is not None]
    return _PerTrial(
        fsum(one.seconds for one in found) / len(found),
        fsum(one.requests for one in found) / len(found),
        fsum(priced) / len(priced) if priced else None,
    )


def _load(cell: Cell, one: _PerTrial | None, catalog: Catalog) -> TrialLoad:
    assert one is not None  # noqa: S101 - checked before
    asks = catalog.of(cell.subject).dialect is not None
    return TrialLoad(
        subject=str(cell.subject),
        seconds=one.seconds,
        requests=max(1, round(one.requests)) if asks else 0,
        provider=_provider(cell.subject.model, catalog.config) if asks else "",
    )


def _provider(model: str, config: Config) -> str:
    """The name of the provider of a model; that of the model if it has none."""
    named = config.models.get(model, {}).get("provider")
    return str(named or (model.partition("/")[0] if "/" in model else model))
