"""What a rule that may stop early costs and misses: exact, for any rule on counts.

A rule looks at passes and fails so far and says its answer, or None to go on. All ways to get there are followed at
once, count by count (dynamic programming), so the numbers are exact: no normal approximation, which is wrong for ten
trials, and no simulation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

Stop: TypeAlias = Callable[[int, int], str | None]
"""(passed, failed) → the answer, or None to go on."""

OPEN = "open"
"""The answer of a rule that has reached its cap without one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """How a rule does at one true rate."""

    chances: Mapping[str, float]
    """Answer → how often it is given."""

    trials: float
    """How many trials it takes on average."""

    def chance(self, answer: str) -> float:
        """How often `answer` is given."""
        return self.chances.get(answer, 0.0)


def operate(stop: Stop, rate: float, *, cap: int, batch: int = 1) -> Operation:
    """Follow the rule at a true pass rate: it is asked after each `batch` of trials, and ends at `cap` trials."""
    if not 0 <= rate <= 1 or cap < 1 or batch < 1:
        raise ValueError(f"rate={rate}, cap={cap}, batch={batch}: a rate between 0 and 1, and at least one trial")
    chances: dict[str, float] = {}
    mean = 0.0
    going = {0: 1.0}  # fails so far → the chance to be there and still going
    for trials in range(1, cap + 1):
        after: dict[int, float] = {}
        for failed, chance in going.items():
            after[failed] = after.get(failed, 0.0) + chance * rate
            after[failed + 1] = after.get(failed + 1, 0.0) + chance * (1 - rate)
        going = {}
        asked = trials % batch == 0 or trials == cap
        for failed, chance in after.items():
            answer = stop(trials - failed, failed) if asked else None
            if answer is None and trials < cap:
                going[failed] = chance
            else:
                chances[answer or OPEN] = chances.get(answer or OPEN, 0.0) + chance
                mean += chance * trials
        if not going:
            break
    return Operation(chances=chances, trials=mean)
