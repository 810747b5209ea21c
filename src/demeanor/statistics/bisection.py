"""Which change broke it, if each answer is uncertain: Bayesian bisection.

Versions stand in a row: 0 is known to be good, `last` to be bad. A trial of a version passes with an unknown rate
before the change and with a lower, unknown one from the change on. Every trial therefore speaks for some changes and
against others, wherever it was made, and none of them is ever wasted or believed outright. Both rates are learnt from
the same trials: they are summed over, on a grid, with priors that stand below. That nothing changed at all is a
possibility among the others.

The next version to try is the one whose next trial is expected to tell most about the change (in bits). What a
sequence of trials amounts to depends on how many passed and failed at each version only, so the belief is a function of
those counts: nothing need be remembered but them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

_NODES = 24
_GRID = tuple(math.sin(math.pi * (i + 0.5) / (2 * _NODES)) ** 2 for i in range(_NODES))
"""Rates to sum over: closer together at both ends, where a small step matters more."""

_PASS = tuple(math.log(rate) for rate in _GRID)
_FAIL = tuple(math.log1p(-rate) for rate in _GRID)

LEAST_DROP = 0.1
"""The smallest drop that is looked for; what is smaller is called no change."""

NO_CHANGE = 0.1
"""How often, before anything is tried, the two ends do not differ at all."""

_GOOD_RATE = ((0.5, 38.0, 2.0), (0.5, 1.0, 1.0))
"""What a rate before the change is like: half of the belief on that of usual evals, the other half on any rate.
Each part is (weight, a, b) of a beta distribution."""

_BAD_RATE = ((0.5, 2.0, 3.0), (0.5, 1.0, 1.0))
"""What a rate after the change is like."""


def _on_grid(parts: tuple[tuple[float, float, float], ...]) -> tuple[float, ...]:
    """A mixture of beta distributions as weights of the grid's nodes; the nodes themselves are those of Beta(½, ½)."""
    total = [0.0] * _NODES
    for weight, a, b in parts:
        density = [math.exp((a - 0.5) * p + (b - 0.5) * f) for p, f in zip(_PASS, _FAIL, strict=True)]
        whole = math.fsum(density)
        total = [t + weight * d / whole for t, d in zip(total, density, strict=True)]
    return tuple(total)


_BEFORE, _AFTER = _on_grid(_GOOD_RATE), _on_grid(_BAD_RATE)
_LOWER = tuple(sum(low <= rate - LEAST_DROP for low in _GRID) for rate in _GRID)
"""Of each node: how many nodes lie low enough to be the rate after it."""

_LOG_PRIORS = {
    "before": tuple(math.log(weight) for weight in _BEFORE),
    "after": tuple(math.log(weight) for weight in _AFTER),
    "either": tuple(math.log((a + b) / 2) for a, b in zip(_BEFORE, _AFTER, strict=True)),
}
_ORDERED = math.log(math.fsum(w * math.fsum(_AFTER[:n]) for w, n in zip(_BEFORE, _LOWER, strict=True)))
"""How much of the two priors together is a drop."""


class Tries(NamedTuple):
    """Trials of one version that were judged."""

    passed: int = 0
    """How many passed."""

    failed: int = 0
    """How many failed."""

    def __add__(self, other: object) -> Tries:
        """Both together."""
        if not isinstance(other, Tries):
            return NotImplemented
        return Tries(self.passed + other.passed, self.failed + other.failed)

    @property
    def judged(self) -> int:
        """How many count."""
        return self.passed + self.failed


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitSpan:
    """Versions in a row of which any may be the change, and which no trial so far tells apart."""

    first: int
    """The first of them."""

    last: int
    """The last of them."""

    chance: float
    """How likely it is that the change lies in this stretch."""

    before: float
    """The pass rate to expect before the change, if it lies here."""

    after: float
    """The pass rate to expect after the change, if it lies here."""

    @property
    def each(self) -> float:
        """How likely each of them is."""
        return self.chance / (self.last - self.first + 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Belief:
    """What the trials so far say about where the change lies."""

    stretches: tuple[CommitSpan, ...]
    """All versions from 1 on, in order."""

    none: float
    """How likely it is that the two ends do not differ."""

    rate: float
    """The pass rate to expect in that case."""

    def chances(self) -> tuple[float, ...]:
        """Of each version from 0 on: how likely it is the change. That of 0 is nought."""
        return (0.0, *(one.each for one in self.stretches for _ in range(one.first, one.last + 1)))

    def information(self) -> tuple[float, ...]:
        """Of each version from 0 on: how many bits its next trial is expected to tell about the change."""
        expected = self.none * self.rate + math.fsum(one.chance * one.before for one in self.stretches)
        doubt = self.none * entropy(self.rate) + math.fsum(one.chance * entropy(one.before) for one in self.stretches)
        found = [entropy(expected) - doubt]
        for one in self.stretches:
            step, doubted = one.each * (one.after - one.before), one.each * (entropy(one.after) - entropy(one.before))
            for _ in range(one.first, one.last + 1):
                expected, doubt = expected + step, doubt + doubted
                found.append(entropy(expected) - doubt)
        return tuple(max(0.0, bits) for bits in found)


def entropy(rate: float) -> float:
    """How uncertain a single trial with this pass rate is, in bits."""
    if rate <= 0 or rate >= 1:
        return 0.0
    return -(rate * math.log2(rate) + (1 - rate) * math.log2(1 - rate))


def believe(tries: Mapping[int, Tries], last: int) -> Belief:
    """What to believe after these trials of versions 0 to `last`; before any, every version is as likely as another."""
    if last < 1 or any(not 0 <= version <= last for version in tries):
        raise ValueError(f"last={last}, tries of {sorted(tries)}: versions go from 0 to last, which is at least 1")
    whole = sum(tries.values(), Tries())
    found = []
    before, begins = Tries(), 1
    for version in sorted({*tries, last}):
        if version >= begins:
            logs, good, bad = _a_drop(before, Tries(whole.passed - before.passed, whole.failed - before.failed))
            share = (1 - NO_CHANGE) * (version - begins + 1) / last
            found.append((begins, version, math.log(share) + logs, good, bad))
            begins = version + 1
        before += tries.get(version, Tries())
    same, rate = _no_drop(whole)
    same += math.log(NO_CHANGE)
    top = max(same, *(logs for _, _, logs, _, _ in found))
    total = math.exp(same - top) + math.fsum(math.exp(logs - top) for _, _, logs, _, _ in found)
    return Belief(
        stretches=tuple(
            CommitSpan(first=first, last=end, chance=math.exp(logs - top) / total, before=good, after=bad)
            for first, end, logs, good, bad in found
        ),
        none=math.exp(same - top) / total,
        rate=rate,
    )


def most_telling(belief: Belief, among: Collection[int], *, at_hand: Collection[int] = (), favour: float = 0.8) -> int:
    """The version to try next. One `at_hand` is taken where it tells nearly as much (`favour`) as the best does."""
    bits = belief.information()
    best = max(sorted(among), key=lambda version: bits[version])
    near = [version for version in sorted(at_hand) if version in among and bits[version] >= favour * bits[best]]
    return max(near, key=lambda version: bits[version]) if near else best


def _a_drop(before: Tries, after: Tries) -> tuple[float, float, float]:
    """How well a drop between these trials explains them (as a logarithm), and both rates to expect then."""
    highs, high_top = _likelihood("before", before)
    lows, low_top = _likelihood("after", after)
    mass = weighted = total = good = bad = 0.0
    reached = 0
    for rate, high, lower in zip(_GRID, highs, _LOWER, strict=True):
        while reached < lower:
            mass += lows[reached]
            weighted += lows[reached] * _GRID[reached]
            reached += 1
        total += high * mass
        good += high * mass * rate
        bad += high * weighted
    # With thousands of trials that contradict a drop, nothing of it may be left.
    total = max(total, 1e-300)
    return math.log(total) + high_top + low_top - _ORDERED, good / total, bad / total


def _no_drop(tries: Tries) -> tuple[float, float]:
    """The same of one rate for all trials."""
    weights, top = _likelihood("either", tries)
    total = math.fsum(weights)
    rate = math.fsum(w * r for w, r in zip(weights, _GRID, strict=True)) / total
    return math.log(total) + top, rate


@lru_cache(maxsize=4096)  # a further trial changes one side of each drop only
def _likelihood(side: str, tries: Tries) -> tuple[tuple[float, ...], float]:
    """Of each node: prior times likelihood, over the largest of them; and the logarithm of that one."""
    passed, failed = tries
    logs = [w + passed * p + failed * f for w, p, f in zip(_LOG_PRIORS[side], _PASS, _FAIL, strict=True)]
    top = max(logs)
    return tuple([math.exp(value - top) for value in logs]), top
