"""A rate against its baseline: lower, higher or the same."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from demeanor.statistics.rate_change import RateChangeTest, baseline_ends

BASELINES = st.tuples(st.integers(0, 60), st.integers(0, 60)).filter(lambda counts: sum(counts) >= 8)


def change_test(passed: int, failed: int, *, cap: int = 60) -> RateChangeTest:
    """A test against a baseline with these trials."""
    low, high = baseline_ends(passed, failed)
    return RateChangeTest(low=low, high=high, change=0.5, false_alarm=0.02, miss=0.02, cap=cap)


@given(BASELINES)
def test_its_exact_error_rates_are_as_stated(counts: tuple[int, int]):
    """For any baseline: false alarms at both of its ends, misses at the rates that must be noticed."""
    test = change_test(*counts, cap=150)
    slack = 1 / (1 - 0.02)  # Wald's bound
    if test.dropped is not None:
        assert test.operation(test.low).chance("drop") <= 0.02 * slack
        assert test.operation(test.dropped).chance("drop") >= 1 - 0.02 * slack - 0.01
    if test.risen is not None:
        assert test.operation(test.high).chance("rise") <= 0.02 * slack
        assert test.operation(test.risen).chance("rise") >= 1 - 0.02 * slack - 0.01


@given(BASELINES, st.integers(0, 30), st.integers(0, 30))
def test_it_always_ends_and_asks_for_no_trial_too_many(counts: tuple[int, int], passed: int, failed: int):
    """A batch is the smallest number of trials that can give an answer."""
    test = change_test(*counts)
    batch = test.batch(passed, failed)
    assert (batch == 0) == (test.answer(passed, failed) is not None)
    assert passed + failed + batch <= max(test.cap, passed + failed)
    for fewer in range(batch):
        assert not any(test.answer(passed + good, failed + fewer - good) for good in range(fewer + 1))


def test_a_high_rate_can_only_drop_and_a_low_rate_can_only_rise():
    """Few trials settle a clear case."""
    high, low = change_test(60, 0), change_test(3, 57)
    assert (high.answer(0, 3), high.answer(9, 0), high.risen) == ("drop", "same", None)
    assert (low.answer(3, 0), low.answer(0, 9), low.dropped) == ("rise", "same", None)


def test_the_cap_never_claims_a_change():
    """A rate in between is called the same."""
    test = change_test(40, 20, cap=5)
    assert test.answer(2, 3) == "same"


def test_doubt_falls_with_the_evidence():
    """And is a bound of a probability."""
    test = change_test(60, 0)
    doubts = [test.doubt(0, failed, "drop") for failed in range(5)]
    assert doubts == sorted(doubts, reverse=True)
    assert doubts[0] == 1.0
    assert test.doubt(9, 0, "drop") == 1.0


def test_few_trials_leave_a_wide_baseline():
    """Both ends come closer with more trials."""
    few, many = baseline_ends(5, 0), baseline_ends(50, 0)
    assert few[0] < many[0] == pytest.approx(0.96, abs=0.03)
