"""What a bisection does next, and when it is sure."""

from __future__ import annotations

import pytest

from demeanor.core.values.exit_code import ExitCode
from demeanor.plugins.lab.bisect.report import BisectOutcome
from demeanor.plugins.lab.bisect.rules import AT_THE_ENDS, Search, boundary
from demeanor.statistics.bisection import Tries

SURE = {0: Tries(6, 0), 3: Tries(6, 0), 4: Tries(0, 6), 8: Tries(0, 6)}


def test_the_ends_are_tried_before_anything_else():
    """All of their first trials in one visit, less what is known of them."""
    empty = Search(tries={}, last=8)
    assert (empty.next(), empty.trials(0), empty.trials(8)) == (0, AT_THE_ENDS, AT_THE_ENDS)
    one = Search(tries={0: Tries(9, 0), 8: Tries(0, 1)}, last=8)
    assert (one.next(), one.trials(8), one.trials(4), one.trials(4, at_once=5)) == (8, AT_THE_ENDS - 1, 1, 5)
    assert Search(tries=SURE | {8: Tries(0, 1)}, last=8).outcome() is None


def test_a_version_that_is_sure_enough_is_found():
    """With all trials before it, and all from it on."""
    search = Search(tries=SURE, last=8)
    assert search.outcome() is BisectOutcome.FOUND
    assert (search.suspects().first, search.suspects().last) == (4, 4)
    assert boundary(SURE, search.suspects()) == (Tries(12, 0), Tries(0, 12))
    assert search.credible() == (4,)
    assert Search(tries=SURE, last=8, confidence=0.9999).outcome() is None


def test_while_it_is_doubtful_that_the_ends_differ_only_they_are_tried():
    """Nothing tells that sooner; and at last they do not differ."""
    search = Search(tries={0: Tries(5, 0), 8: Tries(5, 0)}, last=8)
    assert (search.outcome(), search.next() in {0, 8}) == (None, True)
    assert Search(tries={0: Tries(50, 1), 8: Tries(50, 1)}, last=8).outcome() is BisectOutcome.NO_DIFFERENCE


def test_versions_that_can_not_be_tried_are_never_chosen_and_blur_the_answer():
    """As with `git bisect skip`: the change is one of several, and all of them are named."""
    barred = frozenset({3, 4})
    tries = {0: Tries(6, 0), 2: Tries(6, 0), 5: Tries(0, 6), 8: Tries(0, 6)}
    search = Search(tries=tries, last=8, barred=barred)
    assert search.outcome() is BisectOutcome.FOUND
    assert (search.suspects().first, search.suspects().last) == (3, 5)
    assert set(search.credible()) == {3, 4, 5}
    between = {**tries, 4: Tries(1, 1)}  # it could be tried once, and is on neither side
    assert boundary(between, search.suspects()) == (Tries(12, 0), Tries(0, 12))
    assert Search(tries=tries, last=8).outcome() is None  # they could still be distinguished
    for version in range(9):
        doubtful = Search(tries={0: Tries(6, 0), 8: Tries(0, 6), version: Tries(3, 3)}, last=8, barred=barred)
        assert doubtful.next() not in barred


def test_one_commit_between_the_ends_is_enough():
    """It is that one, or nothing changed."""
    search = Search(tries={0: Tries(6, 0), 1: Tries(0, 6)}, last=1)
    assert (search.outcome(), search.suspects().last) == (BisectOutcome.FOUND, 1)


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (BisectOutcome.FOUND, ExitCode.ACCEPTED),
        (BisectOutcome.NO_DIFFERENCE, ExitCode.REJECTED),
        (BisectOutcome.UNDECIDED, ExitCode.UNDECIDED),
    ],
)
def test_each_outcome_has_its_exit_code(outcome: BisectOutcome, code: ExitCode):
    """For scripts."""
    assert outcome.exit_code is code
