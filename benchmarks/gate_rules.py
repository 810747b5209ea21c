"""The rules of the gate beside the fewest trials that any rule needs, exactly; used by `make bench-signal`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from demeanor.core.text.percent import share
from demeanor.core.values.error_rates import Operating
from demeanor.decide.gate import always, check_in
from demeanor.decide.gate.effort import EFFORTS, STANDARD, Effort
from demeanor.decide.gate.frontier import average_rates, operating, plan_after
from demeanor.statistics.binomial import table
from demeanor.statistics.operating import Stop, operate
from demeanor.statistics.sequential_plan import SequentialPlan, Weighted, optimal_plan

RATES = (0.99, 0.95, 0.8, 0.5)
HISTORIES = (6, 21, 60, 300)
PAST = 60
"""Trials of the history of the cells whose rules are compared."""

LONGEST = 60
"""Plans of up to this many trials are compared."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleFigures:
    """What a rule does with an eval that passes 95 % of the time."""

    trials: float
    """Mean trials of a healthy cell."""

    trials_99: float
    """The same at 99 %."""

    false_alarms: float
    """How often a healthy cell is rejected."""

    misses_80: float
    """How often a drop to 80 % is accepted."""

    misses_50: float
    """How often a drop to 50 % is accepted."""


def figures(rows: Mapping[float, Operating]) -> RuleFigures:
    """From the error rates at 99, 95, 80 and 50 %."""
    return RuleFigures(
        trials=rows[0.95].trials or 0.0,
        trials_99=rows[0.99].trials or 0.0,
        false_alarms=rows[0.95].chance,
        misses_80=1 - rows[0.8].chance,
        misses_50=1 - rows[0.5].chance,
    )


def of_plan(stop: Stop, cap: int) -> RuleFigures:
    """Of a rule on passes and failures."""
    found = {rate: operate(stop, rate, cap=cap) for rate in RATES}
    return figures({p: Operating(rate=p, chance=one.chance("reject"), trials=one.trials) for p, one in found.items()})


def of_effort(effort: Effort, *, past: int = PAST) -> RuleFigures:
    """Of the rule `optimal`, for histories of this many trials at 95 %."""
    return figures({row.rate: row for row in average_rates(RATES, past=past, base=0.95, effort=effort)})


def three_or_ten(passed: int, failed: int) -> str | None:
    """Three passes are enough; otherwise ten trials, of which at most two may fail."""
    if failed > 2:
        return "reject"
    return "accept" if (passed == 3 and not failed) or passed + failed == 10 or passed >= 8 else None


@lru_cache(maxsize=1)
def all_rules() -> dict[str, RuleFigures]:
    """By name, as in docs/statistics.md."""
    return {
        **{f"`{effort.name}`": of_effort(effort) for effort in EFFORTS},
        "two of three, without nights": of_plan(check_in.verdict, check_in.TRIALS),
        "*three passes, else ten and at most two failures*": of_plan(three_or_ten, 10),
    }


PRICES = {
    "`standard`": (13.2994, 0.0574, 12.7656),
    "`thorough`": (26.287, 1.2587, 99.9912),
    "two of three, without nights": (8.9287, 0.0413, 5.1131),
    "*three passes, else ten and at most two failures*": (13.8839, 0.2266, 12.5786),
}
"""The prices of errors at which the lower limit is highest (`best_prices`)."""


def optimum(prices: tuple[float, float, float], longest: int = LONGEST) -> SequentialPlan:
    """The best plan at these prices of a false alarm and of missing a drop to 80 % and to 50 %."""
    false_alarm, small, large = prices
    return optimal_plan(
        healthy=[Weighted(rate=0.95, weight=1.0)],
        dropped=[Weighted(rate=0.8, weight=small), Weighted(rate=0.5, weight=large)],
        false_alarm=false_alarm,
        cap=longest,
        first=0,
    )


def fewest_trials(own: RuleFigures, prices: tuple[float, float, float]) -> float:
    """A lower limit of the trials of every plan with these error rates, by Lagrange duality."""
    best = of_plan(optimum(prices).stop, LONGEST)
    errors = zip(
        prices,
        (best.false_alarms, best.misses_80, best.misses_50),
        (own.false_alarms, own.misses_80, own.misses_50),
        strict=True,
    )
    return best.trials + sum(price * (theirs - ours) for price, theirs, ours in errors)


def best_prices(own: RuleFigures) -> tuple[float, float, float]:
    """The prices at which the lower limit is highest."""
    import numpy as np
    from scipy.optimize import minimize

    def negative(logs: list[float]) -> float:
        false_alarm, small, large = np.exp(logs)
        return -fewest_trials(own, (float(false_alarm), float(small), float(large)))

    best = minimize(negative, np.log([20.0, 1.5, 10.0]), method="Nelder-Mead", options={"maxfev": 250})
    false_alarm, small, large = (round(float(one), 4) for one in np.exp(best.x))
    return false_alarm, small, large


def rules_table() -> Iterator[str]:
    """The rules and the optimum."""
    yield ("| rule | trials at 95 % | fewest possible | at 99 % | false alarms | misses 95→80 % | misses 95→50 % |")
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for name, own in all_rules().items():
        yield (
            f"| {name} | {own.trials:.2f} | {fewest_trials(own, PRICES[name]):.2f} | {own.trials_99:.2f} "
            f"| {share(own.false_alarms)} | {own.misses_80 * 100:.1f} % | {own.misses_50 * 100:.1f} % |"
        )


def history_table() -> Iterator[str]:
    """`standard` by the length of the history, beside the check-in rule of cells without one."""
    yield f"| trials in the history | none: two of three | {' | '.join(map(str, HISTORIES))} |"
    yield "|---|" + "--:|" * (1 + len(HISTORIES))
    lengths = [of_plan(check_in.verdict, check_in.TRIALS), *(of_effort(STANDARD, past=past) for past in HISTORIES)]
    rows = {
        "trials at 95 %": [f"{own.trials:.2f}" for own in lengths],
        "false alarms": [share(own.false_alarms) for own in lengths],
        "misses 95→80 %": [f"{own.misses_80 * 100:.1f} %" for own in lengths],
        "misses 95→50 %": [f"{own.misses_50 * 100:.1f} %" for own in lengths],
        "false alarms of a 90 % eval": list(map(share, false_alarms(0.9))),
        "false alarms of a 70 % eval": list(map(share, false_alarms(0.7))),
    }
    yield from (f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items())


CELLS, CONFIRM = 150, 3


def confirm_table() -> Iterator[str]:
    """What confirmation changes for many healthy cells."""
    yield (
        f"| {CELLS} healthy cells | blocked without | with `confirm = {CONFIRM}` | detects 95→50 % without | with "
        "| trials |"
    )
    yield "|---|--:|--:|--:|--:|--:|"
    always_at = [operating(always.verdict, 0.99, cap=always.TRIALS, confirm=confirm) for confirm in (0, CONFIRM)]
    yield f"| `ALWAYS_PASSES` at 99 % | {_blocked(always_at)} | | | {_trials(always_at)} |"
    for effort in EFFORTS:
        healthy, dropped = ([_averaged(rate, effort, confirm) for confirm in (0, CONFIRM)] for rate in (0.95, 0.5))
        found = " | ".join(share(row.chance) for row in dropped)
        name = f"`USUALLY_PASSES` at 95 %, `{effort.name}`"
        yield f"| {name} | {_blocked(healthy)} | {found} | {_trials(healthy)} |"


def _averaged(rate: float, effort: Effort, confirm: int) -> Operating:
    """Over the histories of an eval at 95 %."""
    plans = [(weight, plan_after(own, PAST - own, effort)) for own, weight in enumerate(table(PAST, 0.95))]
    rows = [(weight, operating(plan.stop, rate, cap=plan.cap, confirm=confirm)) for weight, plan in plans]
    chance = sum(weight * row.chance for weight, row in rows)
    return Operating(rate=rate, chance=chance, trials=sum(weight * (row.trials or 0.0) for weight, row in rows))


def _blocked(rows: Sequence[Operating]) -> str:
    return " | ".join(share(1 - (1 - row.chance) ** CELLS) for row in rows)


def _trials(rows: Sequence[Operating]) -> str:
    without, confirmed = (CELLS * (row.trials or 0.0) for row in rows)
    return f"{without:.0f} + {confirmed - without:.0f}"


def false_alarms(base: float) -> Iterator[float]:
    """How often an eval that passes so often is rejected, without nights and after each length of history."""
    yield check_in.error_rates([base]).rows[0].chance
    for past in HISTORIES:
        yield average_rates((base,), past=past, base=base, effort=STANDARD)[0].chance


FALSE_ALARMS = 0.008
"""Of the plotted optimum."""


def frontier(drop: int) -> list[tuple[float, float]]:
    """Trials, and the smallest share of missed drops (in percent) of any rule with at most `FALSE_ALARMS`.

    `drop` is 0 for a drop to 80 %, 1 for one to 50 %. Each price gives a line that no rule can be below.
    """
    lines = []
    for false_alarm in (2.0 * 1.5**step for step in range(11)):
        for miss in (1.5 * 1.5**step for step in range(15)):
            prices = (false_alarm, miss, 0.0) if drop == 0 else (false_alarm, 0.0, miss)
            best = of_plan(optimum(prices, 30).stop, 30)
            misses = best.misses_80 if drop == 0 else best.misses_50
            lines.append((best.trials + false_alarm * (best.false_alarms - FALSE_ALARMS) + miss * misses, miss))
    trials = [step / 4 for step in range(2, 36)]
    found = [(at, max((cost - at) / miss for cost, miss in lines) * 100) for at in trials]
    return [(at, max(0.0, least)) for at, least in found if least <= 100]
