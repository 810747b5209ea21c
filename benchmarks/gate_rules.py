"""The rules of the gate beside the fewest trials that any rule needs, exactly; used by `make bench-signal`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from demeanor.core.text.percent import share
from demeanor.core.values.error_rates import Operating
from demeanor.decide.gate import check_in
from demeanor.decide.gate.effort import EFFORTS, SECOND_LOOK, STANDARD, Effort
from demeanor.decide.gate.frontier import average_rates, plan_after
from demeanor.statistics.operating import Stop, operate
from demeanor.statistics.sequential_plan import SequentialPlan, Weighted, optimal_plan

RATES = (0.99, 0.95, 0.8, 0.5)
HISTORIES = (3, 21, 60, 300)
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
    "`thorough`": (36.1037, 5.06, 95.2257),
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


def false_alarms(base: float) -> Iterator[float]:
    """How often an eval that passes so often is rejected, without nights and after each length of history."""
    yield check_in.error_rates([base]).rows[0].chance
    for past in HISTORIES:
        yield average_rates((base,), past=past, base=base, effort=STANDARD)[0].chance


@dataclass(frozen=True, kw_only=True, slots=True)
class Shared:
    """Three subjects of one eval that share evidence, all with the same rate."""

    missed: float
    """The share of cells that are accepted."""

    trials: float
    """Mean trials per cell."""


def shared(rate: float, *, past: tuple[int, int] = (57, 3)) -> Shared:
    """Exactly: the own plans of the three subjects, and a second look if another subject was rejected."""
    own, second = plan_after(*past, STANDARD), plan_after(*past, SECOND_LOOK)
    found = operate(lambda p, f: f"{p} {f}" if own.stop(p, f) == "accept" else own.stop(p, f), rate, cap=own.cap)
    accepted = {answer: chance for answer, chance in found.chances.items() if answer != "reject"}
    alone = sum(accepted.values())
    again_missed = again_trials = 0.0
    for answer, chance in accepted.items():
        passed, failed = map(int, answer.split())
        missed, trials = _second_look(second, passed, failed, rate)
        again_missed, again_trials = again_missed + chance * missed, again_trials + chance * trials
    looked_at = 1 - alone**2  # another of the three is rejected
    return Shared(missed=alone * alone**2 + looked_at * again_missed, trials=found.trials + looked_at * again_trials)


def _second_look(plan: SequentialPlan, passed: int, failed: int, rate: float) -> tuple[float, float]:
    """How often the plan accepts from here, and its further trials."""
    if plan.stop(passed, failed):
        return float(plan.stop(passed, failed) == "accept"), 0.0
    found = operate(lambda p, f: plan.stop(passed + p, failed + f), rate, cap=plan.cap - passed - failed)
    return found.chance("accept"), found.trials


def alone(rate: float, trials: float, *, past: tuple[int, int] = (57, 3)) -> float:
    """The share of missed cells that are decided one by one, with so many trials per healthy cell.

    Plans are interpolated: no plan has exactly this many.
    """
    fewer, missed = 0.0, 1.0
    for step in range(400):
        more = 1 + step / 100
        effort = replace(STANDARD, small_drop=STANDARD.small_drop * more, large_drop=STANDARD.large_drop * more)
        plan = plan_after(*past, effort)
        now, then = operate(plan.stop, 0.95, cap=plan.cap).trials, operate(plan.stop, rate, cap=plan.cap)
        if now >= trials:
            return missed + (trials - fewer) / (now - fewer) * (1 - then.chance("reject") - missed)
        fewer, missed = now, 1 - then.chance("reject")
    raise ValueError(f"trials={trials}: no effort takes so many")


def shared_table() -> Iterator[str]:
    """Three subjects that drop together."""
    healthy = shared(0.95)
    yield "| three subjects drop from 95 % to | missed, decided one by one | missed, with shared evidence | fewer |"
    yield "|---|--:|--:|--:|"
    for rate in (0.8, 0.7, 0.5):
        one_by_one, together = alone(rate, healthy.trials), shared(rate).missed
        yield f"| {rate * 100:.0f} % | {share(one_by_one)} | {share(together)} | {share(1 - together / one_by_one)} |"


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
