"""How often `demeanor bisect` finds the right commit and how many trials it needs, compared with plain bisection.

    python benchmarks/bisection.py [runs]

Ours is a simulation with a fixed seed, so the result is the same on every machine.
A plain bisection halves the range and trusts each answer; it is calculated for its best case: a number of commits that
is a power of two, and both ends known.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from demeanor.commands.bisect.report import BisectOutcome
from demeanor.commands.bisect.rules import Search
from demeanor.statistics.binomial import at_most
from demeanor.statistics.bisection import Tries, entropy

BEFORE, AFTER = 0.95, 0.5
DROPS = ((1.0, 0.0), (1.0, 0.5), (0.95, 0.7), (0.95, 0.8), (0.8, 0.3), (0.6, 0.2))
ALIKE = ((0.95, 0.95), (0.7, 0.7), (0.1, 0.1))
CAP = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Performance:
    """The error rates and cost of a method of bisection."""

    right: float
    """The probability of the right commit."""

    wrong: float
    """The probability of a wrong commit."""

    no_difference: float = 0.0
    """The probability of the answer that the ends do not differ; the rest is undecided."""

    trials: float
    """The mean number of trials, including those of the ends."""

    commits: float
    """The mean number of commits tested, which is the number of builds."""


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
    """Simulate our bisection with the change at a random commit.

    It runs `at_once` trials of a commit at a time; `known` trials of each end exist already. After `most` trials it is
    undecided; with `guess`, it names the most likely commit instead.
    """
    draw = random.Random(seed)
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
    """A plain bisection with `trials` per step, in which `fails` failures make a commit bad."""
    steps = math.ceil(math.log2(commits))
    seen_good = at_most(fails - 1, trials, 1 - before)
    seen_bad = 1 - at_most(fails - 1, trials, 1 - after)
    # At every step the change is equally likely on both sides, so half of the tested commits are bad.
    right = ((seen_good + seen_bad) / 2) ** steps
    return Performance(right=right, wrong=1 - right, trials=steps * trials, commits=steps)


def plain_as_right(
    before: float, after: float, *, right: float = 0.95, commits: int = 64
) -> tuple[Performance, int, int]:
    """The cheapest plain bisection with this probability of being right; its trials per step and number of failures.

    It knows both rates, and chooses the number of failures accordingly.
    """
    for trials in range(1, 1000):
        best = max(range(1, trials + 1), key=lambda fails: plain(before, after, trials=trials, fails=fails).right)
        found = plain(before, after, trials=trials, fails=best, commits=commits)
        if found.right >= right:
            return found, trials, best
    raise ValueError(f"before={before}, after={after}: no plain bisection is right with probability {right}")


def min_trials(before: float, after: float, *, right: float = 0.95, commits: int = 64) -> float:
    """A lower bound for the mean number of trials of any method, even if it knows both rates.

    Being right with this probability takes a certain number of bits (Fano), and a trial gives at most the capacity of
    the channel from "before or after?" to "pass or fail?" (Shannon).
    """
    needed = math.log2(commits) - entropy(right) - (1 - right) * math.log2(max(1, commits - 1))
    shares = (step / 1000 for step in range(1001))
    capacity = max(
        entropy(share * before + (1 - share) * after) - share * entropy(before) - (1 - share) * entropy(after)
        for share in shares
    )
    return needed / capacity


def methods(runs: int) -> Iterator[tuple[str, Performance]]:
    """Methods to bisect a drop from 95 % to 50 % among 64 commits."""
    yield "plain, one trial a step", plain(BEFORE, AFTER, trials=1, fails=1)
    yield "plain, majority of 5 a step", plain(BEFORE, AFTER, trials=5, fails=3)
    yield "plain, majority of 101 a step", plain(BEFORE, AFTER, trials=101, fails=51)
    yield "plain, 5 a step, bad from the first fail on", plain(BEFORE, AFTER, trials=5, fails=1)
    yield "plain, 5 a step, bad from 2 fails on", plain(BEFORE, AFTER, trials=5, fails=2)
    cheapest, trials, fails = plain_as_right(BEFORE, AFTER)
    yield f"plain, {trials} a step, bad from {fails} fails on: the cheapest that reaches 95 %", cheapest
    yield "**demeanor bisect**, nothing known", simulate(BEFORE, AFTER, runs=runs)
    yield "… with `--trials 3` at each visit", simulate(BEFORE, AFTER, runs=runs, at_once=3)
    yield "… with 20 trials of each end kept before", simulate(BEFORE, AFTER, runs=runs, known=20)
    yield "… with 60 trials of each end kept before", simulate(BEFORE, AFTER, runs=runs, known=60)
    yield (
        "… 60 kept before, ended at 30 trials, its likeliest taken",
        simulate(BEFORE, AFTER, runs=runs, known=60, most=30, guess=True),
    )
    yield (
        "… nothing known, ended at 30 trials, its likeliest taken",
        simulate(BEFORE, AFTER, runs=runs, most=30, guess=True),
    )


def main(runs: int) -> None:
    """Print both tables."""
    print("| way | right | trials | commits built |\n|---|---|---|---|")
    for name, one in methods(runs):
        print(f"| {name} | {one.right * 100:.0f} % | {one.trials:.0f} | {one.commits:.0f} |", flush=True)
    print(f"\nno way takes fewer than {min_trials(BEFORE, AFTER):.0f} trials on average\n")
    print("| before → after | right | wrong | no difference | undecided | trials | commits built |")
    print("|---|---|---|---|---|---|---|")
    for before, after in (*DROPS, *ALIKE):
        one = simulate(before, after, runs=max(50, runs // 4), most=CAP)
        shares = (one.right, one.wrong, one.no_difference, 1 - one.right - one.wrong - one.no_difference)
        shown = " | ".join(f"{share * 100:.0f} %" for share in shares)
        rates = f"{before * 100:.0f} % → {after * 100:.0f} %"
        print(f"| {rates} | {shown} | {one.trials:.0f} | {one.commits:.0f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400)
