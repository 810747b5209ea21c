"""A drop from 95 % to 50 % among 64 commits: how often the right commit is named, and at what cost."""

from __future__ import annotations

import pytest
from benchmarks.bisection import min_trials, plain, plain_as_right, simulate

MAJORITY = plain(0.95, 0.5, trials=5, fails=3)


def test_the_right_commit_is_found_for_fewer_trials_than_a_plain_bisection_needs():
    """It learns both rates and tries both ends; the plain one gets the rates, and its ends are free.

    A majority of five at each step takes 30 trials, but names the right commit in 18 of 100 cases only. Whichever
    number of trials and of fails it takes at each step: to be right as often as is asked for here, it takes 102.
    """
    ours = simulate(0.95, 0.5, runs=200)
    as_right, per_step, _ = plain_as_right(0.95, 0.5, right=0.95)
    assert ours.right >= 0.95
    assert ours.trials < 60
    assert (as_right.trials, per_step) == (102, 17)


def test_for_the_trials_of_a_majority_of_five_it_is_right_more_than_twice_as_often():
    """Ended after 30 trials, those of both ends included, and asked for its likeliest commit."""
    ended = simulate(0.95, 0.5, runs=150, most=30, guess=True)
    assert (MAJORITY.trials, ended.trials <= 30) == (30, True)
    assert ended.right > 2 * MAJORITY.right


def test_a_majority_is_no_better_with_more_trials():
    """Where half of the trials pass after the change, a majority of them is a toss of a coin."""
    assert MAJORITY.right == pytest.approx(0.177, abs=0.001)
    assert plain(0.95, 0.5, trials=101, fails=51).right < 0.18


def test_no_way_to_bisect_takes_fewer_trials_than_information_allows():
    """The lower bound: 26 trials, if both rates were known beforehand."""
    least = min_trials(0.95, 0.5)
    assert least == pytest.approx(26.07, abs=0.01)
    known = simulate(0.95, 0.5, runs=40, known=400)
    assert least < known.trials < 45


def test_certain_answers_take_about_as_many_trials_as_a_plain_bisection():
    """And a few to see that they are certain."""
    certain = simulate(1.0, 0.0, runs=40)
    assert (certain.right, certain.trials < 20) == (1.0, True)


def test_ends_that_do_not_differ_name_no_suspect():
    """Or hardly ever."""
    same = simulate(0.95, 0.95, runs=25)
    assert (same.right, same.wrong, same.no_difference) == (0, 0, 1)
    assert same.commits < 8
