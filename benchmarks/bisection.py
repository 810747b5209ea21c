"""How often `demeanor bisect` finds the right commit and how many trials it needs, compared with plain bisection.

    python benchmarks/bisection.py [runs]

Prints the tables of docs/bisect.md. It is a simulation with a fixed seed, so the result does not depend on the machine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from demeanor.commands.bisect.error_rates import Performance, min_trials, plain, plain_as_right, simulate

BEFORE, AFTER = 0.95, 0.5
DROPS = ((1.0, 0.0), (1.0, 0.5), (0.95, 0.7), (0.95, 0.8), (0.8, 0.3), (0.6, 0.2))
ALIKE = ((0.95, 0.95), (0.7, 0.7), (0.1, 0.1))
CAP = 200


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
