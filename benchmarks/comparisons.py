"""How often a comparison is right, by simulation through the product's own rules; for docs/statistics.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from demeanor.core.text.percent import share
from demeanor.core.values.history import RunCell
from demeanor.core.values.policy import Policy
from demeanor.decide.comparison import Comparison, compare, to_look_at_again

FIRST, SECOND = 10, 20
EVALS = 50

CASES: dict[str, tuple[list[float], list[float]]] = {
    "no change, all at 99 %": ([0.99] * EVALS, [0.99] * EVALS),
    "no change, all at 95 %": ([0.95] * EVALS, [0.95] * EVALS),
    "no change, all at 80 %": ([0.8] * EVALS, [0.8] * EVALS),
    "one falls, 99 → 50 %": ([0.99] * EVALS, [0.5, *[0.99] * (EVALS - 1)]),
    "one falls, 95 → 70 %": ([0.95] * EVALS, [0.7, *[0.95] * (EVALS - 1)]),
    "all fall, 95 → 85 %": ([0.95] * EVALS, [0.85] * EVALS),
    "all fall, 95 → 90 %": ([0.95] * EVALS, [0.9] * EVALS),
}
"""The true rates of both sides."""


def comparison_table(times: int = 300) -> Iterator[str]:
    """The answers of `compare --base`, with and without its second look."""
    yield (
        f"| {EVALS} evals, {FIRST} trials per side | one look: worse | two looks: worse | not worse | can't tell "
        "| more trials |"
    )
    yield "|---|--:|--:|--:|--:|--:|"
    for name, (before, after) in CASES.items():
        rng, once, twice, trials = np.random.default_rng(5), Counter[str](), Counter[str](), 0
        for _ in range(times):
            first, last, more = looked_twice(rng, before, after)
            once[first.answer] += 1
            twice[last.answer] += 1
            trials += more
        cells = [once["worse"], twice["worse"], twice["not worse"], twice["undecided"]]
        more_trials = share(trials / times / (2 * FIRST * EVALS))
        yield f"| {name} | {' | '.join(share(number / times) for number in cells)} | {more_trials} |"


def looked_twice(
    rng: np.random.Generator, before: Sequence[float], after: Sequence[float]
) -> tuple[Comparison, Comparison, int]:
    """The answer after the first look, that after the second, and the trials of the second."""
    sides = [drawn(rng, dict(enumerate(rates)), FIRST) for rates in (before, after)]
    first = compare(*sides)
    chosen = sorted(int(name) for name, _ in to_look_at_again(first))
    again = [drawn(rng, {number: rates[number] for number in chosen}, SECOND) for rates in (before, after)]
    last = compare(*sides, again=(again[0], again[1])) if chosen else first
    return first, last, 2 * SECOND * len(chosen)


def drawn(rng: np.random.Generator, rates: dict[int, float], trials: int) -> list[RunCell]:
    """The results of one side."""
    return [
        RunCell(
            run="r",
            started="",
            kind="local",
            eval=str(number),
            subject="a:m",
            policy=Policy.USUALLY_PASSES,
            passed=(passed := int(rng.binomial(trials, rate))),
            failed=trials - passed,
        )
        for number, rate in rates.items()
    ]
