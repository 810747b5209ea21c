"""The report of `demeanor simulate`, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from demeanor.commands.simulate.rules import ProviderLimit
from demeanor.render.documents import ReportDocument


@dataclass(frozen=True, kw_only=True, slots=True)
class FleetForecast:
    """What a night takes on one fleet."""

    workers: int
    """The number of workers."""

    slots: int
    """Attempts in parallel on all of them together."""

    seconds: float
    """The expected wall time."""

    busy: float
    """The share of the slots' time in which a trial runs, between 0 and 1."""

    bottleneck: str
    """What limits it: `slots`, the name of a provider, `conductor`, or `longest trial`."""

    seconds_with_twice: float
    """The wall time with twice as much of the bottleneck."""

    waited: Mapping[str, float] = field(default_factory=dict)
    """Provider → seconds that requests wait for its limits, all of them together."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Forecast:
    """What a night will probably take."""

    trials: int
    """Planned trials."""

    cells: int
    """Combinations of an eval and a subject."""

    without_history: int
    """Trials of cells that never ran; they count like the mean of the others."""

    cost_usd: float | None
    """The expected cost, as far as earlier runs tell; None if none does."""

    requests: Mapping[str, int]
    """Provider → expected requests."""

    limits: Mapping[str, ProviderLimit]
    """Provider → its limits."""

    fleets: tuple[FleetForecast, ...]
    """The fleets that were simulated."""


SIMULATE_DOCUMENT = ReportDocument("simulate", Forecast)
