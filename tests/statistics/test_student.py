from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from demeanor.statistics.student import reach


@given(level=st.floats(0.5, 0.999), freedom=st.integers(1, 500))
def test_it_agrees_with_scipy(level: float, freedom: int) -> None:
    """For any level and any number of pairs."""
    assert reach(level, freedom) == pytest.approx(stats.t.ppf((1 + level) / 2, freedom), rel=1e-6)


def test_without_freedom_there_is_no_interval() -> None:
    """A single number has no spread."""
    with pytest.raises(ValueError, match="freedom=0"):
        reach(0.95, 0)
