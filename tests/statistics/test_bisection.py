"""Where a change lies, if each answer is uncertain."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from demeanor.statistics.bisection import Belief, Tries, believe, entropy, most_telling

LAST = 12
COUNTS = st.builds(Tries, st.integers(0, 20), st.integers(0, 20))
TRIES = st.dictionaries(st.integers(0, LAST), COUNTS, max_size=6)


def doubt(belief: Belief) -> float:
    """The entropy of the posterior, in bits."""
    return -sum(p * math.log2(p) for p in (belief.none, *belief.chances()) if p > 0)


def test_without_trials_all_versions_are_equally_likely():
    """Except for version 0, which is good."""
    belief = believe({}, LAST)
    assert belief.chances()[0] == 0
    assert belief.chances()[1:] == pytest.approx([0.9 / LAST] * LAST)
    assert belief.none == pytest.approx(0.1)


@given(TRIES)
def test_probabilities_add_up_to_1(tries: dict[int, Tries]):
    """For any trials."""
    belief = believe(tries, LAST)
    assert sum(belief.chances()) + belief.none == pytest.approx(1)
    assert min(belief.chances()) >= 0


@given(TRIES)
def test_information_is_the_expected_decrease_of_entropy(tries: dict[int, Tries]):
    """Calculated from both possible outcomes of the next trial."""
    belief = believe(tries, LAST)
    for version, bits in enumerate(belief.information()):
        passes = belief.none * belief.rate + sum(
            one.each * (one.before if version < place else one.after)
            for one in belief.spans
            for place in range(one.first, one.last + 1)
        )
        after = [
            doubt(believe({**tries, version: tries.get(version, Tries()) + answer}, LAST))
            for answer in (Tries(1, 0), Tries(0, 1))
        ]
        fall = doubt(belief) - passes * after[0] - (1 - passes) * after[1]
        assert bits == pytest.approx(max(0.0, fall), abs=1e-6)
    assert len(belief.information()) == LAST + 1


@given(TRIES, st.integers(0, LAST))
def test_a_fail_is_evidence_for_an_earlier_change(tries: dict[int, Tries], version: int):
    """Changes at or before the version do not become less likely, later ones not more likely."""
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
    assert belief.spans[1].before == pytest.approx(0.93, abs=0.03)
    assert belief.spans[1].after < 0.2


def test_equal_ends_are_detected():
    """At any rate."""
    for passed, failed in ((40, 2), (2, 40)):
        assert believe({0: Tries(passed, failed), LAST: Tries(passed, failed)}, LAST).none > 0.9


def test_thousands_of_trials_do_not_underflow():
    """Including thousands that contradict a drop."""
    for tries in ({0: Tries(9000, 1000), LAST: Tries(5000, 5000)}, {0: Tries(0, 9000), LAST: Tries(9000, 0)}):
        belief = believe(tries, LAST)
        assert sum(belief.chances()) + belief.none == pytest.approx(1)
        assert all(math.isfinite(bits) for bits in belief.information())


def test_the_next_version_has_the_most_information():
    """A version at hand is chosen if it has nearly as much."""
    belief = believe({0: Tries(3, 0), LAST: Tries(0, 3)}, LAST)
    bits = belief.information()
    best = most_telling(belief, range(LAST + 1))
    assert bits[best] == max(bits)
    assert most_telling(belief, set(range(LAST + 1)) - {best}) != best
    assert most_telling(belief, range(LAST + 1), at_hand=[best + 1]) == best + 1
    assert most_telling(belief, range(LAST + 1), at_hand=[0, LAST]) == best


def test_versions_that_do_not_exist_are_refused():
    """With a message."""
    with pytest.raises(ValueError, match="between 0 and last"):
        believe({LAST + 1: Tries(1, 0)}, LAST)
    with pytest.raises(ValueError, match="last=0"):
        believe({}, 0)


def test_entropy_is_highest_at_one_half():
    """And 0 for certain outcomes."""
    assert (entropy(0.0), entropy(0.5), entropy(1.0)) == (0, 1, 0)
