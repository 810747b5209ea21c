"""The scan for changes of `statistics/change.py`, for thousands of simulated histories at once (with numpy).

The tests compare it with `find_changes` night by night. `benchmarks/error_rates.py` and the tests use it to measure
false alarms and detected drops, for which the plain scan would take hours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from demeanor.statistics.change import CANDIDATES, MEMORY, limit
from demeanor.statistics.change_evidence import _AFTER, _ALIKE, _BEFORE, _EACH, _FLOOR, _ONE
from demeanor.statistics.occasions import effective

Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Scanned:
    """The alarms of many histories: one entry per history and night each."""

    falls: Array
    """Whether there was an alarm of a fall."""

    rises: Array
    """Whether there was an alarm of a rise."""

    @property
    def alarms(self) -> Array:
        """Of either direction."""
        return self.falls | self.rises


def nights_to_first_alarm(found: Scanned) -> float:
    """The mean number of nights to the first alarm, if a new scan begins after the last night of each history."""
    alarmed = found.alarms.any(axis=1)
    nights = np.where(alarmed, found.alarms.argmax(axis=1) + 1, found.alarms.shape[1])
    return float(nights.sum() / alarmed.sum())


def draw(
    rates: Sequence[float],
    histories: int,
    *,
    subjects: int = 1,
    trials: int = 3,
    seed: int = 1,
    correlation: float = 0.0,
) -> Array:
    """Passed trials by history, subject and night, if every subject has the rate of the night."""
    rng = np.random.default_rng(seed)
    of_night = np.broadcast_to(rates, (histories, subjects, len(rates)))
    if correlation:
        weight = (1 - correlation) / correlation
        of_night = rng.beta(of_night * weight, (1 - of_night) * weight)
    return rng.binomial(trials, of_night)


def scan(passed: Array, *, trials: int = 3, correlation: float = 0.0) -> Scanned:
    """All alarms; `passed` has one entry per history, subject and night."""
    worth = round(effective(trials, correlation), 2)
    histories, subjects, nights = passed.shape
    before = np.zeros((histories, subjects, nights + 1), dtype=np.int64)
    np.cumsum(passed, axis=2, out=before[:, :, 1:])
    limits = np.exp([limit(subjects, float(trials), known, worth) for known in range(MEMORY + 1)])
    starts = np.zeros((histories, subjects), dtype=np.int64)
    falls, rises = np.zeros((2, histories, nights), dtype=bool)
    for night in range(1, nights):
        end = night + 1
        begins = np.maximum(starts, end - MEMORY)
        splits = np.arange(max(1, end - CANDIDATES), end)
        own = [_factors(before[:, one], begins[:, one], splits, end, trials, worth) for one in range(subjects)]
        fall, rise = _mixtures(before, begins, splits, end, trials, own, worth)
        fall_sum = np.where((passed[:, :, night] < trials).any(axis=1), fall.sum(axis=1), 0.0)
        rise_sum = rise.sum(axis=1)
        found = np.maximum(fall_sum, rise_sum) >= limits[end - begins.min(axis=1)]
        fell = fall_sum >= rise_sum
        falls[:, night], rises[:, night] = found & fell, found & ~fell
        if found.any():
            place = np.where(fell, fall.argmax(axis=1), rise.argmax(axis=1))
            _restart(starts, begins, splits, place, found, fell, own)
    return Scanned(falls=falls, rises=rises)


def _restart(
    starts: Array, begins: Array, splits: Array, place: Array, found: Array, fell: Array, own: Sequence[Sequence[Array]]
) -> None:
    """The subjects that changed forget the nights before."""
    rows = np.arange(len(place))
    strength = np.stack([np.where(fell, falls[rows, place], rises[rows, place]) for falls, rises in own], axis=1)
    strength = np.where(begins < splits[place][:, None], strength, -1.0)
    changed = strength > 1
    nothing = ~changed.any(axis=1)
    changed[nothing, strength[nothing].argmax(axis=1)] = True
    changed &= found[:, None]
    starts[changed] = np.broadcast_to(splits[place][:, None], starts.shape)[changed]


def _mixtures(
    before: Array, begins: Array, splits: Array, end: int, trials: int, own: Sequence[tuple[Array, Array]], worth: float
) -> tuple[Array, Array]:
    """The Bayes factors of a fall and of a rise, by history and first night."""
    if len(own) == 1:
        return own[0]
    oldest = begins.min(axis=1)
    pooled = begins == oldest[:, None]
    whole = (before * pooled[:, :, None]).sum(axis=1)
    alike = _factors(whole, oldest, splits, end, trials * pooled.sum(axis=1), worth)
    known = np.stack([begins[:, one, None] < splits[None, :] for one in range(len(own))])
    number = np.maximum(1, known.sum(axis=0))
    mixed = []
    for direction in (0, 1):
        factors = np.stack([one[direction] for one in own])
        each = np.where(known, np.maximum(_FLOOR, factors), 1.0).prod(axis=0)
        together = np.where(known, factors, 0.0).sum(axis=0)
        mixture = _EACH * each + _ONE * together / number + _ALIKE * alike[direction]
        mixed.append(np.where(number > 1, mixture, together) * known.any(axis=0))
    return mixed[0], mixed[1]


def _factors(
    before: Array, begin: Array, splits: Array, end: int, trials: int | Array, worth: float
) -> tuple[Array, Array]:
    """The Bayes factors of one series, by history and first night; 0 if the rate did not change in this direction."""
    trials = np.broadcast_to(trials, begin.shape)
    logs = _logs(int(trials.max()) * MEMORY, worth)
    rows = np.arange(len(begin))
    earlier = before[rows, begin]
    passed, judged = before[:, end] - earlier, (end - begin) * trials
    valid = splits[None, :] > begin[:, None]
    good = np.where(valid, before[:, splits] - earlier[:, None], 0)
    old = np.where(valid, (splits[None, :] - begin[:, None]) * trials[:, None], 0)
    bad, later, new = old - good, passed[:, None] - good, judged[:, None] - old
    constant = logs.own[passed] + logs.own[judged - passed] - logs.own[judged]
    since = logs.after(later, new - later) - constant[:, None]
    more = good * new - later * old
    fall = np.where(valid & (more > 0), np.exp(logs.before(good, bad) + since), 0.0)
    rise = np.where(valid & (more < 0), np.exp(logs.before(bad, good) + since), 0.0)
    return fall, rise


@dataclass(frozen=True, kw_only=True)
class _Logs:
    """Tables of logarithms, by a number of trials."""

    own: Array
    prior: tuple[Array, Array, Array, float]
    flat: tuple[Array, Array, Array, float]

    def before(self, good: Array, bad: Array) -> Array:
        return _sum(self.prior, good, bad)

    def after(self, good: Array, bad: Array) -> Array:
        return _sum(self.flat, good, bad)


def _sum(tables: tuple[Array, Array, Array, float], good: Array, bad: Array) -> Array:
    first, second, both, constant = tables
    found: Array = first[good] + second[bad] - both[good + bad] - constant
    return found


@lru_cache(maxsize=64)
def _logs(most: int, worth: float) -> _Logs:
    counts = np.arange(most + 1) * worth

    def marginal(a: float, b: float) -> tuple[Array, Array, Array, float]:
        return (
            gammaln(a + counts),
            gammaln(b + counts),
            gammaln(a + b + counts),
            gammaln(a) + gammaln(b) - gammaln(a + b),
        )

    return _Logs(own=xlogy(counts, np.maximum(counts, 1e-9)), prior=marginal(*_BEFORE), flat=marginal(*_AFTER))
