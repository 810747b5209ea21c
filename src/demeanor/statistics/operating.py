"""The operating characteristics of a rule that may stop early, exact for any rule on counts.

A rule maps the passes and fails so far to an answer, or to None to continue. Dynamic programming over the counts gives
exact numbers, without simulation and without a normal approximation, which is wrong for ten trials.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from demeanor.statistics.occasions import next_pass

Stop: TypeAlias = Callable[[int, int], str | None]
"""(passed, failed) → the answer, or None to continue."""

OPEN = "open"
"""The answer of a rule that reached its cap without one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Operation:
    """The characteristics of a rule at one true rate."""

    chances: Mapping[str, float]
    """Answer → its probability."""

    trials: float
    """The expected number of trials."""

    ends: Mapping[tuple[int, int], float]
    """(passed, failed) → the probability to stop there."""

    def chance(self, answer: str) -> float:
        """The probability of `answer`."""
        return self.chances.get(answer, 0.0)


def operate(stop: Stop, rate: float, *, cap: int, batch: int = 1, correlation: float = 0.0) -> Operation:
    """The characteristics at a true pass rate, if the rule is applied after each `batch`, up to `cap` trials.

    All trials are of one occasion: see `occasions`.
    """
    if not 0 <= rate <= 1 or cap < 1 or batch < 1:
        raise ValueError(f"rate={rate}, cap={cap}, batch={batch}: rate must be between 0 and 1, the others at least 1")
    chances: dict[str, float] = {}
    ends: dict[tuple[int, int], float] = {}
    mean = 0.0
    active = {0: 1.0}  # fails so far → the probability of that, without an answer yet
    for trials in range(1, cap + 1):
        after: dict[int, float] = {}
        for failed, chance in active.items():
            passes = next_pass(trials - 1 - failed, failed, rate, correlation)
            after[failed] = after.get(failed, 0.0) + chance * passes
            after[failed + 1] = after.get(failed + 1, 0.0) + chance * (1 - passes)
        active = {}
        applies = trials % batch == 0 or trials == cap
        for failed, chance in after.items():
            answer = stop(trials - failed, failed) if applies else None
            if answer is None and trials < cap:
                active[failed] = chance
            else:
                chances[answer or OPEN] = chances.get(answer or OPEN, 0.0) + chance
                ends[trials - failed, failed] = chance
                mean += chance * trials
        if not active:
            break
    return Operation(chances=chances, trials=mean, ends=ends)
