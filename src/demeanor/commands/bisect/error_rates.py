"""How often a bisection is right, and what it costs: ours by simulation, plain ones exactly, and what none can beat.

A plain bisection halves the commits and believes each answer. `plain` reckons it in the case that suits it best: it is
given a number of commits that halves evenly, and both ends for nothing.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from demeanor.commands.bisect.rules import Search
from demeanor.commands.bisect.values import BisectOutcome
from demeanor.statistics.binomial import at_most
from demeanor.statistics.bisection import Tries, entropy


@dataclass(frozen=True, kw_only=True, slots=True)
class Performance:
    """How a way to bisect does."""

    right: float
    """How often it names the right commit."""

    wrong: float
    """How often it names a wrong one."""

    no_difference: float = 0.0
    """How often it says that the ends do not differ; the rest is undecided."""

    trials: float
    """Trials on average, those of the ends included where it makes any."""

    commits: float
    """Different commits that are tried, on average: builds."""


def simulate(
    before: float,
    after: float,
    *,
    commits: int = 64,
    runs: int = 200,
    seed: int = 1,
    confidence: float = 0.95,
    most: int = 400,
    at_once: int = 1,
    known: int = 0,
    guess: bool = False,
) -> Performance:
    """Our own bisection, many times over, with the change anywhere.

    `at_once` trials are made at each visit; `known` trials of each end were kept before, and cost nothing. At `most`
    trials it is undecided; where it is to `guess`, it names the likeliest instead.
    """
    draw = random.Random(seed)  # noqa: S311 - a simulation
    right = wrong = alike = trials = tried = 0
    for _ in range(runs):
        change = draw.randint(1, commits)

        def passes(version: int, change: int = change) -> bool:
            return draw.random() < (before if version < change else after)

        named, outcome, made, different = _once(passes, commits, confidence, most, at_once, known, guess=guess)
        right += named == change and before != after
        wrong += named is not None and (named != change or before == after)
        alike += outcome is BisectOutcome.NO_DIFFERENCE
        trials += made
        tried += different
    return Performance(
        right=right / runs,
        wrong=wrong / runs,
        no_difference=alike / runs,
        trials=trials / runs,
        commits=tried / runs,
    )


def _once(
    passes: Callable[[int], bool],
    commits: int,
    confidence: float,
    most: int,
    at_once: int,
    known: int,
    *,
    guess: bool,
) -> tuple[int | None, BisectOutcome | None, int, int]:
    tries = {end: _made(passes, end, known) for end in (0, commits)} if known else {}
    made = 0
    while True:
        search = Search(tries=tries, last=commits, confidence=confidence)
        outcome = search.outcome()
        if outcome is not None or made >= most:
            sure = outcome is BisectOutcome.FOUND or (guess and outcome is None)
            named = search.suspects().last if sure else None
            return named, outcome, made, len(tries)
        version = search.next(at_hand=tries)
        number = search.trials(version, at_once=at_once)
        tries[version] = tries.get(version, Tries()) + _made(passes, version, number)
        made += number


def _made(passes: Callable[[int], bool], version: int, number: int) -> Tries:
    passed = sum(passes(version) for _ in range(number))
    return Tries(passed, number - passed)


def plain(before: float, after: float, *, trials: int, fails: int, commits: int = 64) -> Performance:
    """A plain bisection that makes so many trials at each step, and calls a commit bad from so many fails on."""
    steps = math.ceil(math.log2(commits))
    seen_good = at_most(fails - 1, trials, 1 - before)
    seen_bad = 1 - at_most(fails - 1, trials, 1 - after)
    # At every step the change is as likely on one side as on the other, so half of the commits tried are bad.
    right = ((seen_good + seen_bad) / 2) ** steps
    return Performance(right=right, wrong=1 - right, trials=steps * trials, commits=steps)


def plain_as_right(
    before: float, after: float, *, right: float = 0.95, commits: int = 64
) -> tuple[Performance, int, int]:
    """The cheapest plain bisection that is right as often as this; its trials at each step, and the fails it takes.

    It is told both rates, by which it chooses the number of fails.
    """
    for trials in range(1, 1000):
        best = max(range(1, trials + 1), key=lambda fails: plain(before, after, trials=trials, fails=fails).right)
        found = plain(before, after, trials=trials, fails=best, commits=commits)
        if found.right >= right:
            return found, trials, best
    raise ValueError(f"before={before}, after={after}: no plain bisection is right in {right} of cases")


def fewest(before: float, after: float, *, right: float = 0.95, commits: int = 64) -> float:
    """A number of trials that no way to bisect can beat on average, even if it is told both rates.

    To be right as often as this takes so many bits (Fano), and a trial tells no more than the capacity of the channel
    from "before or after?" to "pass or fail?" (Shannon).
    """
    needed = math.log2(commits) - entropy(right) - (1 - right) * math.log2(max(1, commits - 1))
    shares = (step / 1000 for step in range(1001))
    capacity = max(
        entropy(share * before + (1 - share) * after) - share * entropy(before) - (1 - share) * entropy(after)
        for share in shares
    )
    return needed / capacity
