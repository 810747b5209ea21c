"""Where a change lies, if each answer is uncertain."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from demeanor.statistics.bisection import Belief, Tries, believe, entropy, most_telling

LAST = 12
COUNTS = st.builds(Tries, st.integers(0, 20), st.integers(0, 20))
TRIES = st.dictionaries(st.integers(0, LAST), COUNTS, max_size=6)


def doubt(belief: Belief) -> float:
    """Bits that are missing to know where the change lies."""
    return -sum(p * math.log2(p) for p in (belief.none, *belief.chances()) if p > 0)


def test_before_any_trial_every_version_is_as_likely_as_another():
    """And the good end is none of them."""
    belief = believe({}, LAST)
    assert belief.chances()[0] == 0
    assert belief.chances()[1:] == pytest.approx([0.9 / LAST] * LAST)
    assert belief.none == pytest.approx(0.1)


@settings(max_examples=60, deadline=None)
@given(TRIES)
def test_all_chances_together_are_a_certainty(tries: dict[int, Tries]):
    """Whatever was tried."""
    belief = believe(tries, LAST)
    assert sum(belief.chances()) + belief.none == pytest.approx(1)
    assert min(belief.chances()) >= 0


@settings(max_examples=40, deadline=None)
@given(TRIES)
def test_a_trial_tells_as_much_as_it_is_expected_to(tries: dict[int, Tries]):
    """The information is what the doubt falls by on average; reckoned the long way, from both answers."""
    belief = believe(tries, LAST)
    for version, bits in enumerate(belief.information()):
        passes = belief.none * belief.rate + sum(
            one.each * (one.before if version < place else one.after)
            for one in belief.stretches
            for place in range(one.first, one.last + 1)
        )
        after = [
            doubt(believe({**tries, version: tries.get(version, Tries()) + answer}, LAST))
            for answer in (Tries(1, 0), Tries(0, 1))
        ]
        fall = doubt(belief) - passes * after[0] - (1 - passes) * after[1]
        assert bits == pytest.approx(max(0.0, fall), abs=1e-6)
    assert len(belief.information()) == LAST + 1


@settings(max_examples=60, deadline=None)
@given(TRIES, st.integers(0, LAST))
def test_a_fail_speaks_for_a_change_at_or_before_it(tries: dict[int, Tries], version: int):
    """Against no change before it, and for none after it."""
    more = {**tries, version: tries.get(version, Tries()) + Tries(0, 1)}
    before, after = (believe(some, LAST).chances() for some in (tries, more))
    gain = [new / old for new, old in zip(after[1:], before[1:], strict=True) if old > 1e-12]
    here = min(version, len(gain))
    if gain[:here] and gain[here:]:
        assert min(gain[:here]) >= max(gain[here:]) - 1e-9


def test_certain_answers_need_few_trials():
    """Passes up to a version and fails from the next one on."""
    tries = {0: Tries(3, 0), 5: Tries(4, 0), 6: Tries(0, 4), LAST: Tries(0, 3)}
    belief = believe(tries, LAST)
    assert belief.chances()[6] > 0.97
    assert belief.stretches[1].before == pytest.approx(0.93, abs=0.03)
    assert belief.stretches[1].after < 0.2


def test_ends_that_do_not_differ_are_found_out():
    """However good or bad they are."""
    for passed, failed in ((40, 2), (2, 40)):
        assert believe({0: Tries(passed, failed), LAST: Tries(passed, failed)}, LAST).none > 0.9


def test_thousands_of_trials_are_no_trouble():
    """Nor are thousands that contradict a drop."""
    for tries in ({0: Tries(9000, 1000), LAST: Tries(5000, 5000)}, {0: Tries(0, 9000), LAST: Tries(9000, 0)}):
        belief = believe(tries, LAST)
        assert sum(belief.chances()) + belief.none == pytest.approx(1)
        assert all(math.isfinite(bits) for bits in belief.information())


def test_the_next_version_is_the_most_telling_one_that_may_be_tried():
    """One at hand is taken where it tells nearly as much."""
    belief = believe({0: Tries(3, 0), LAST: Tries(0, 3)}, LAST)
    bits = belief.information()
    best = most_telling(belief, range(LAST + 1))
    assert bits[best] == max(bits)
    assert most_telling(belief, set(range(LAST + 1)) - {best}) != best
    assert most_telling(belief, range(LAST + 1), at_hand=[best + 1]) == best + 1
    assert most_telling(belief, range(LAST + 1), at_hand=[0, LAST]) == best


def test_versions_that_do_not_exist_are_refused():
    """By name."""
    with pytest.raises(ValueError, match="from 0 to last"):
        believe({LAST + 1: Tries(1, 0)}, LAST)
    with pytest.raises(ValueError, match="last=0"):
        believe({}, 0)


def test_entropy_is_greatest_in_doubt():
    """And nought where there is none."""
    assert (entropy(0.0), entropy(0.5), entropy(1.0)) == (0, 1, 0)
