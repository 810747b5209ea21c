from __future__ import annotations

import random

import pytest

from demeanor.statistics.operating import OPEN, Stop, operate


def escalating(passes: int, cap: int, fails: int) -> Stop:
    """Accept after this many passes at the start; else continue to the cap, and flag at this many fails."""

    def stop(passed: int, failed: int) -> str | None:
        if failed >= fails:
            return "flag"
        return "fine" if (failed == 0 and passed == passes) or passed + failed == cap else None

    return stop


@pytest.mark.parametrize(
    ("passes", "cap", "fails", "false_alarm", "trials", "miss_80", "miss_50"),
    [
        (2, 10, 3, 0.0063, 2.77, 0.808, 0.269),
        (3, 10, 3, 0.0083, 3.98, 0.754, 0.151),
        (3, 20, 4, 0.0084, 5.39, 0.642, 0.125),
    ],
)
def test_the_published_numbers_of_escalating_rules(
    passes: int, cap: int, fails: int, false_alarm: float, trials: float, miss_80: float, miss_50: float
) -> None:
    """Reference numbers: error rates and mean costs."""
    stop = escalating(passes, cap, fails)
    healthy = operate(stop, 0.95, cap=cap)
    assert healthy.chance("flag") == pytest.approx(false_alarm, abs=5e-5)
    assert healthy.trials == pytest.approx(trials, abs=0.005)
    assert 1 - operate(stop, 0.80, cap=cap).chance("flag") == pytest.approx(miss_80, abs=6e-4)
    assert 1 - operate(stop, 0.50, cap=cap).chance("flag") == pytest.approx(miss_50, abs=6e-4)


def test_a_simulation_agrees() -> None:
    """Of the same rule."""
    stop, rng = escalating(3, 10, 3), random.Random(4)
    flagged = spent = 0
    for _ in range(20_000):
        passed = failed = 0
        while (answer := stop(passed, failed)) is None:
            ok = rng.random() < 0.8
            passed, failed = passed + ok, failed + (not ok)
        flagged += answer == "flag"
        spent += passed + failed
    exact = operate(stop, 0.8, cap=10)
    assert flagged / 20_000 == pytest.approx(exact.chance("flag"), abs=0.01)
    assert spent / 20_000 == pytest.approx(exact.trials, abs=0.06)


def test_probabilities_add_up_and_a_rule_without_an_answer_is_open() -> None:
    """At the cap it ends."""
    found = operate(lambda passed, failed: None, 0.3, cap=7)
    assert (found.chance(OPEN), found.trials) == (pytest.approx(1.0), pytest.approx(7.0))
    assert sum(operate(escalating(2, 10, 3), 0.6, cap=10).chances.values()) == pytest.approx(1.0)


def test_a_rule_is_applied_after_each_batch() -> None:
    """After each third trial only, so the first fail is noticed late."""
    found = operate(lambda passed, failed: "flag" if failed else None, 0.5, cap=9, batch=3)
    assert found.trials == pytest.approx(3 * (1 + 1 / 8 + 1 / 64))


def test_invalid_arguments_are_refused() -> None:
    """A rate above 1."""
    with pytest.raises(ValueError, match=r"rate=1\.5"):
        operate(lambda passed, failed: None, 1.5, cap=3)
