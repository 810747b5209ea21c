from __future__ import annotations

import math
import random

import pytest
from scipy import optimize, special

from demeanor.statistics.shrinkage import fit_prior


def suite(rng: random.Random, evals: int, trials: int) -> tuple[list[float], list[tuple[int, int]]]:
    rates = [rng.betavariate(38, 2) for _ in range(evals)]
    return rates, [(sum(rng.random() < rate for _ in range(trials)), trials) for rate in rates]


def test_it_finds_what_scipy_finds() -> None:
    """The same maximum of the same likelihood, and of the same doubt of what few trials show."""
    _, counts = suite(random.Random(3), 200, 21)

    def height(logs: list[float]) -> float:
        a, b = math.exp(logs[0]), math.exp(logs[1])
        doubt = -100 / (a + b + 1) + 0.5 * (math.log(a / (a + b)) + math.log(b / (a + b)))
        return -doubt - sum(special.betaln(a + c, b + n - c) - special.betaln(a, b) for c, n in counts)

    theirs = optimize.minimize(
        height, [3, 1], method="Nelder-Mead", bounds=[(-9, 9)] * 2, options={"xatol": 1e-8, "fatol": 1e-10}
    )
    ours = fit_prior(counts)
    assert ours.mean == pytest.approx(math.exp(theirs.x[0]) / sum(math.exp(x) for x in theirs.x), abs=1e-4)
    assert height([math.log(ours.a), math.log(ours.b)]) == pytest.approx(theirs.fun, abs=1e-3)


def test_it_is_as_precise_as_three_times_the_trials() -> None:
    """Shrunken rates of 21 trials are about as close to the truth as raw rates of 60."""
    rng = random.Random(5)
    errors = {"raw": 0.0, "shrunken": 0.0, "raw 60": 0.0}
    for _ in range(10):
        rates, counts = suite(rng, 200, 21)
        prior = fit_prior(counts)
        for rate, (c, n) in zip(rates, counts, strict=True):
            errors["raw"] += (c / n - rate) ** 2 / 2000
            errors["shrunken"] += (prior.after(c, n - c).mean - rate) ** 2 / 2000
            errors["raw 60"] += (sum(rng.random() < rate for _ in range(60)) / 60 - rate) ** 2 / 2000
    assert math.sqrt(errors["raw"]) == pytest.approx(0.0469, abs=0.003)
    assert math.sqrt(errors["shrunken"]) == pytest.approx(0.0277, abs=0.002)
    assert math.sqrt(errors["raw 60"]) == pytest.approx(0.0280, abs=0.002)


@pytest.mark.parametrize("counts", [[(3, 3)] * 50, [(0, 3)] * 50, [(7, 7)]])
def test_it_is_never_certain(counts: list[tuple[int, int]]) -> None:
    """Even if all evals are alike, half a pass and half a fail remain."""
    prior = fit_prior(counts)
    assert min(prior) >= 0.5


def test_without_a_trial_there_is_nothing_to_fit() -> None:
    """An error, not a number."""
    with pytest.raises(ValueError, match="must have a trial"):
        fit_prior([(0, 0)])
