"""How many of some things really have a property, if a test that finds it is sometimes wrong?"""

from __future__ import annotations

from math import fsum

from demeanor.statistics.binomial import table


def true_count(count: int, *, of: int, tested: int, sure: float, false_alarm: float, level: float = 0.95) -> range:
    """The numbers that are compatible with `count` of `of` things, as a range of counts.

    Each thing with the property is found with a probability of at least `sure`. `tested` things could have been false
    alarms, each with a probability of at most `false_alarm`.
    """
    if not 0 <= count <= of or tested < 0:
        raise ValueError(f"count={count} of={of}, tested={tested}: count must be between 0 and `of`, tested at least 0")
    tail = (1 - level) / 2
    false = _quantile(table(tested, false_alarm), 1 - tail)
    highest = count
    while highest < of and fsum(table(highest + 1, sure)[: count + 1]) >= tail:
        highest += 1
    return range(max(0, count - false), highest + 1)


def _quantile(chances: list[float], target: float) -> int:
    """The smallest number whose cumulative probability reaches `target`."""
    total = 0.0
    for number, chance in enumerate(chances):
        total += chance
        if total >= target - 1e-12:
            return number
    return len(chances) - 1
