"""Simulates a run: which trial starts when, on so many slots and within the limits of providers. Pure.

Trials start in the order of the plan, as soon as a slot is free, like those of a real run. A trial asks its provider
for as many answers as earlier ones did, one after the other; each request waits until the provider's limits allow it,
first come, first served. The conductor then judges and stores one trial after the other.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

CONDUCTOR_SECONDS = 0.006
"""What the conductor needs to send, judge and store a trial (benchmarks/cluster.py)."""

_MINUTE = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialLoad:
    """What one trial will probably need."""

    subject: str
    """The subject, as `agent:model`."""

    seconds: float
    """Its duration without any waiting for limits, all its attempts together."""

    requests: int = 0
    """Requests to the provider."""

    provider: str = ""
    """The provider that answers; empty for an agent without a model."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProviderLimit:
    """The limits of a provider; None means unlimited."""

    concurrency: int | None = None
    """Requests at once."""

    per_minute: int | None = None
    """Requests in any minute."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulatedTrial:
    """When a trial took place."""

    subject: str
    """The subject, as `agent:model`."""

    start: float
    """Seconds since the start of the run."""

    end: float
    """Seconds since the start of the run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulatedRun:
    """The course of a run."""

    seconds: float
    """Its wall time."""

    trials: tuple[SimulatedTrial, ...] = ()
    """Its trials, in the order in which they ended."""

    waited: Mapping[str, float] = field(default_factory=dict)
    """Provider → seconds that requests waited for its limits, all of them together."""


class _Limiter:
    """The requests of a provider so far; each call of `start` is later than the one before."""

    def __init__(self, limit: ProviderLimit) -> None:
        self._ends: list[float] = []
        self._concurrency = limit.concurrency
        self._starts: deque[float] = deque(maxlen=limit.per_minute)
        self._per_minute = limit.per_minute

    def start(self, now: float, seconds: float) -> float:
        """When a request that arrives now starts."""
        if self._concurrency and len(self._ends) == self._concurrency:
            now = max(now, heapq.heappop(self._ends))
        if self._per_minute and len(self._starts) == self._per_minute:
            now = max(now, self._starts[0] + _MINUTE)
        self._starts.append(now)
        if self._concurrency:
            heapq.heappush(self._ends, now + seconds)
        return now


def simulate(
    trials: Sequence[TrialLoad],
    slots: int,
    limits: Mapping[str, ProviderLimit],
    *,
    conductor_seconds: float = CONDUCTOR_SECONDS,
) -> SimulatedRun:
    """The course of a run of these trials on so many slots."""
    limiters = {name: _Limiter(limit) for name, limit in limits.items()}
    waiting = deque(range(len(trials)))
    waited = dict.fromkeys(limits, 0.0)
    started = [0.0] * len(trials)
    left = [max(1, trial.requests) for trial in trials]
    events: list[tuple[float, int, int]] = []
    done: list[SimulatedTrial] = []
    conductor = 0.0
    number = 0

    def push(at: float, index: int) -> None:
        nonlocal number
        number += 1
        heapq.heappush(events, (at, number, index))

    def begin(at: float) -> None:
        if waiting:
            index = waiting.popleft()
            started[index] = at
            push(at, index)

    for _ in range(min(slots, len(trials))):
        begin(0.0)
    while events:
        now, _, index = heapq.heappop(events)
        trial = trials[index]
        if left[index] < 0:
            done.append(SimulatedTrial(subject=trial.subject, start=started[index], end=now))
            begin(now)
            continue
        if left[index] == 0:  # its agent has ended; it keeps its slot until it is judged
            left[index] = -1
            conductor = max(conductor, now) + conductor_seconds
            push(conductor, index)
            continue
        seconds = trial.seconds / max(1, trial.requests)
        limiter = limiters.get(trial.provider) if trial.requests else None
        start = limiter.start(now, seconds) if limiter else now
        if start > now:
            waited[trial.provider] += start - now
        left[index] -= 1
        push(start + seconds, index)
    return SimulatedRun(seconds=max((one.end for one in done), default=0.0), trials=tuple(done), waited=waited)


@dataclass(frozen=True, kw_only=True, slots=True)
class Bottleneck:
    """What limits a run most: that of which twice as much shortens it most."""

    name: str
    """`slots`, the name of a provider, `conductor`, or `longest trial` if more of anything changes little."""

    seconds: float
    """The wall time with twice as much of it."""


def find_bottleneck(
    trials: Sequence[TrialLoad], slots: int, limits: Mapping[str, ProviderLimit], seconds: float
) -> Bottleneck:
    """The bottleneck of a run that takes so many seconds."""
    found = {"slots": simulate(trials, 2 * slots, limits).seconds}
    for name, limit in limits.items():
        doubled = replace(
            limit,
            concurrency=limit.concurrency and 2 * limit.concurrency,
            per_minute=limit.per_minute and 2 * limit.per_minute,
        )
        found[name] = simulate(trials, slots, {**limits, name: doubled}).seconds
    found["conductor"] = simulate(trials, slots, limits, conductor_seconds=CONDUCTOR_SECONDS / 2).seconds
    best = min(found, key=lambda name: found[name])
    if found[best] > 0.95 * seconds:
        return Bottleneck(name="longest trial", seconds=seconds)
    return Bottleneck(name=best, seconds=found[best])
