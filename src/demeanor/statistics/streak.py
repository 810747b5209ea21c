"""The probability of a streak of successes within a number of rounds."""

from __future__ import annotations

from math import fsum


def chance_of_streak(chance: float, *, length: int, rounds: int, earliest: int = 0) -> float:
    """The probability of `length` successes in a row within `rounds` rounds, if each succeeds with `chance`.

    With `earliest`, it is first checked after that round: a streak counts if it is complete then or later.
    """
    if not 0 <= chance <= 1 or length < 1 or rounds < 0:
        expected = "chance must be between 0 and 1, length at least 1, rounds at least 0"
        raise ValueError(f"chance={chance}, length={length}, rounds={rounds}: {expected}")
    # at[k]: the probability that no check found a streak and the last k rounds succeeded (k = length: at least k).
    at, done = [1.0] + [0.0] * length, 0.0
    for number in range(1, rounds + 1):
        fresh = [0.0] * (length + 1)
        fresh[0] = fsum(at) * (1 - chance)
        for run, here in enumerate(at):
            fresh[min(run + 1, length)] += here * chance
        at = fresh
        if number >= earliest:
            done += at[length]
            at[length] = 0.0
    return done
