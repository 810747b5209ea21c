"""Splits the trials of a run into shards, which machines run that share nothing but the repository."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from heapq import heapify, heapreplace

from demeanor.core.values.run_request import Shard
from demeanor.core.values.trial import Plan


def shard_of(plan: Plan, shard: Shard, costs: Mapping[str, float], seed: int) -> Plan:
    """The plan with the trials of one shard. Trials are dealt out one by one, the most expensive first, each to the
    shard that costs least so far; `costs` is that of a trial by cell, or nothing, for shards of the same size.

    Every machine gets the same split from the same plan, costs and seed.
    """
    order = sorted(plan.trials(), key=lambda trial: (-costs.get(trial.cell, 0.0), trial.seed(seed), trial.id))
    loads = [(0.0, 0, number) for number in range(1, shard.of + 1)]
    heapify(loads)
    own: set[str] = set()
    for trial in order:
        cost, trials, number = loads[0]
        heapreplace(loads, (cost + costs.get(trial.cell, 0.0), trials + 1, number))
        if number == shard.number:
            own.add(trial.id)
    return Plan(
        cells=tuple(
            replace(cell, trials=tuple(t for t in cell.trials if t.id in own), whole=len(cell.trials))
            for cell in plan.cells
        )
    )
