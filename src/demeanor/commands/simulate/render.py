"""A forecast as a table."""

from __future__ import annotations

from rich.text import Text

from demeanor.commands.simulate.report import FleetForecast, Forecast
from demeanor.commands.simulate.rules import ProviderLimit
from demeanor.core.text import count
from demeanor.render.numbers import duration, percent
from demeanor.render.table import table, text_column
from demeanor.render.terminal import Screen, paint


def forecast_text(report: Forecast, screen: Screen) -> str:
    """The forecast for a terminal."""
    cost = "cost unknown" if report.cost_usd is None else f"${report.cost_usd:.2f}"
    lines = [Text(f"{count(report.trials, 'trial')} of {count(report.cells, 'cell')}, {cost}", "bold"), Text()]
    columns = [
        text_column("workers", [str(fleet.workers) for fleet in report.fleets], screen),
        text_column("slots", [str(fleet.slots) for fleet in report.fleets], screen),
        text_column("wall time", [duration(fleet.seconds) for fleet in report.fleets], screen),
        text_column("slots busy", [percent(fleet.busy) for fleet in report.fleets], screen),
        text_column("bottleneck", [fleet.bottleneck for fleet in report.fleets], screen),
        text_column("with twice as much", [_twice(fleet) for fleet in report.fleets], screen),
    ]
    lines += table(columns, screen)
    lines.append(Text())
    for name, requests in report.requests.items():
        limit = report.limits.get(name)
        lines.append(Text(screen.safe(f"{name}: {count(requests, 'request')}, {_limit(limit)}")))
    if report.without_history:
        lines.append(
            Text(screen.safe(f"{count(report.without_history, 'trial')} of evals that never ran: duration assumed"))
        )
    return paint(lines, screen)


def _twice(fleet: FleetForecast) -> str:
    return "the same" if fleet.bottleneck == "longest trial" else duration(fleet.seconds_with_twice)


def _limit(limit: ProviderLimit | None) -> str:
    if limit is None:
        return "no limit configured"
    texts = [f"{limit.concurrency} at once"] * bool(limit.concurrency)
    texts += [f"{limit.per_minute} per minute"] * bool(limit.per_minute)
    return "limit " + ", ".join(texts)
