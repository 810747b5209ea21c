from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from demeanor.statistics.flaky import flakiness


def test_known_values() -> None:
    """The known points of the binary entropy."""
    assert flakiness(2, 1) == 1.0
    assert flakiness(3, 2) == pytest.approx(0.918296, abs=1e-6)
    assert flakiness(3, 3) == flakiness(3, 0) == 0.0


def test_without_a_judged_trial_it_is_undefined() -> None:
    """Unknown is not the same as not flaky."""
    assert flakiness(0, 0) is None


@given(n=st.integers(1, 100), data=st.data())
def test_it_is_between_0_and_1_and_symmetric(n: int, data: st.DataObject) -> None:
    """Passes and fails can be exchanged."""
    c = data.draw(st.integers(0, n))
    score = flakiness(n, c)
    assert score is not None
    assert 0 <= score <= 1
    assert score == pytest.approx(flakiness(n, n - c))


def test_more_passes_than_trials_are_refused() -> None:
    """An impossible count is an error."""
    with pytest.raises(ValueError, match="passed=2 of judged=1"):
        flakiness(1, 2)
