"""Bayesian bisection: finds the change that broke an eval, if each trial is uncertain.

Versions are numbered: 0 is good, `last` is bad. A trial passes with an unknown rate before the change and with a lower
unknown rate from the change on. So every trial, of any version, is evidence for some changes and against others. Both
rates are estimated from the same trials: they are integrated over a grid, with the priors below. "No change" is one of
the hypotheses.

The next version to try is the one whose next trial has the highest expected information about the change, in bits. The
posterior depends only on the numbers of passes and fails of each version.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

_NODES = 24
_GRID = tuple(math.sin(math.pi * (i + 0.5) / (2 * _NODES)) ** 2 for i in range(_NODES))
"""The grid of rates, denser at both ends."""

_PASS = tuple(math.log(rate) for rate in _GRID)
_FAIL = tuple(math.log1p(-rate) for rate in _GRID)

LEAST_DROP = 0.1
"""The smallest drop that counts as a change."""

NO_CHANGE = 0.1
"""The prior probability that the two ends do not differ."""

_GOOD_RATE = ((0.5, 38.0, 2.0), (0.5, 1.0, 1.0))
"""The prior of the rate before the change: half of it from typical evals, half of it uniform.
Each part is (weight, a, b) of a beta distribution."""

_BAD_RATE = ((0.5, 2.0, 3.0), (0.5, 1.0, 1.0))
"""The prior of the rate after the change."""


def _on_grid(parts: tuple[tuple[float, float, float], ...]) -> tuple[float, ...]:
    """A mixture of beta distributions as weights of the nodes, which are spaced as in Beta(½, ½)."""
    total = [0.0] * _NODES
    for weight, a, b in parts:
        density = [math.exp((a - 0.5) * p + (b - 0.5) * f) for p, f in zip(_PASS, _FAIL, strict=True)]
        whole = math.fsum(density)
        total = [t + weight * d / whole for t, d in zip(total, density, strict=True)]
    return tuple(total)


_BEFORE, _AFTER = _on_grid(_GOOD_RATE), _on_grid(_BAD_RATE)
_LOWER = tuple(sum(low <= rate - LEAST_DROP for low in _GRID) for rate in _GRID)
"""For each node: the number of nodes that are at least `LEAST_DROP` lower."""

_LOG_PRIORS = {
    "before": tuple(math.log(weight) for weight in _BEFORE),
    "after": tuple(math.log(weight) for weight in _AFTER),
    "either": tuple(math.log((a + b) / 2) for a, b in zip(_BEFORE, _AFTER, strict=True)),
}
_ORDERED = math.log(math.fsum(w * math.fsum(_AFTER[:n]) for w, n in zip(_BEFORE, _LOWER, strict=True)))
"""The logarithm of the joint prior probability of a drop."""


class Tries(NamedTuple):
    """The judged trials of one version."""

    passed: int = 0
    """How many passed."""

    failed: int = 0
    """How many failed."""

    def __add__(self, other: object) -> Tries:
        """The sum of both."""
        if not isinstance(other, Tries):
            return NotImplemented
        return Tries(self.passed + other.passed, self.failed + other.failed)

    @property
    def judged(self) -> int:
        """Passed and failed."""
        return self.passed + self.failed


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitSpan:
    """Consecutive versions that no trial so far distinguishes."""

    first: int
    """The first version."""

    last: int
    """The last version."""

    chance: float
    """The probability that the change is one of them."""

    before: float
    """The expected pass rate before the change, if it is one of them."""

    after: float
    """The expected pass rate after the change, if it is one of them."""

    @property
    def each(self) -> float:
        """The probability of each version."""
        return self.chance / (self.last - self.first + 1)


@dataclass(frozen=True, kw_only=True, slots=True)
class Belief:
    """The posterior distribution of the change."""

    spans: tuple[CommitSpan, ...]
    """All versions from 1 on, in order."""

    none: float
    """The probability that the two ends do not differ."""

    rate: float
    """The expected pass rate in that case."""

    def chances(self) -> tuple[float, ...]:
        """For each version from 0: the probability that it is the change, which is 0 for version 0."""
        return (0.0, *(span.each for span in self.spans for _ in range(span.first, span.last + 1)))

    def information(self) -> tuple[float, ...]:
        """For each version from 0: the expected information of its next trial about the change, in bits."""
        expected = self.none * self.rate + math.fsum(span.chance * span.before for span in self.spans)
        doubt = self.none * entropy(self.rate) + math.fsum(span.chance * entropy(span.before) for span in self.spans)
        bits = [entropy(expected) - doubt]
        for span in self.spans:
            step, doubted = (
                span.each * (span.after - span.before),
                span.each * (entropy(span.after) - entropy(span.before)),
            )
            for _ in range(span.first, span.last + 1):
                expected, doubt = expected + step, doubt + doubted
                bits.append(entropy(expected) - doubt)
        return tuple(max(0.0, amount) for amount in bits)


def entropy(rate: float) -> float:
    """The entropy of a trial with this pass rate, in bits."""
    if rate <= 0 or rate >= 1:
        return 0.0
    return -(rate * math.log2(rate) + (1 - rate) * math.log2(1 - rate))


def believe(tries: Mapping[int, Tries], last: int) -> Belief:
    """The posterior after these trials of versions 0 to `last`; without trials all versions are equally likely."""
    if last < 1 or any(not 0 <= version <= last for version in tries):
        raise ValueError(
            f"last={last}, tries of {sorted(tries)}: versions must be between 0 and last, which must be at least 1"
        )
    whole = sum(tries.values(), Tries())
    spans = []
    before, begins = Tries(), 1
    for version in sorted({*tries, last}):
        if version >= begins:
            logs, good, bad = _log_drop(before, Tries(whole.passed - before.passed, whole.failed - before.failed))
            share = (1 - NO_CHANGE) * (version - begins + 1) / last
            spans.append((begins, version, math.log(share) + logs, good, bad))
            begins = version + 1
        before += tries.get(version, Tries())
    same, rate = _log_no_drop(whole)
    same += math.log(NO_CHANGE)
    top = max(same, *(logs for _, _, logs, _, _ in spans))
    total = math.exp(same - top) + math.fsum(math.exp(logs - top) for _, _, logs, _, _ in spans)
    return Belief(
        spans=tuple(
            CommitSpan(first=first, last=end, chance=math.exp(logs - top) / total, before=good, after=bad)
            for first, end, logs, good, bad in spans
        ),
        none=math.exp(same - top) / total,
        rate=rate,
    )


def most_telling(belief: Belief, among: Collection[int], *, at_hand: Collection[int] = (), favour: float = 0.8) -> int:
    """The version to try next. One that is `at_hand` is chosen if its information is at least `favour` of the best."""
    bits = belief.information()
    best = max(sorted(among), key=lambda version: bits[version])
    near = [version for version in sorted(at_hand) if version in among and bits[version] >= favour * bits[best]]
    return max(near, key=lambda version: bits[version]) if near else best


def _log_drop(before: Tries, after: Tries) -> tuple[float, float, float]:
    """The log-likelihood of a drop between these trials, and both expected rates."""
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
    # Thousands of trials against a drop can make this underflow to 0.
    total = max(total, 1e-300)
    return math.log(total) + high_top + low_top - _ORDERED, good / total, bad / total


def _log_no_drop(tries: Tries) -> tuple[float, float]:
    """The log-likelihood of one rate for all trials, and its expected value."""
    weights, top = _likelihood("either", tries)
    total = math.fsum(weights)
    rate = math.fsum(w * r for w, r in zip(weights, _GRID, strict=True)) / total
    return math.log(total) + top, rate


@lru_cache(maxsize=4096)  # another trial changes only one side of each drop
def _likelihood(side: str, tries: Tries) -> tuple[tuple[float, ...], float]:
    """For each node: prior times likelihood, relative to the largest; and the logarithm of the largest."""
    passed, failed = tries
    logs = [w + passed * p + failed * f for w, p, f in zip(_LOG_PRIORS[side], _PASS, _FAIL, strict=True)]
    top = max(logs)
    return tuple([math.exp(value - top) for value in logs]), top
