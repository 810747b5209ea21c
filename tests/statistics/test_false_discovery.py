from __future__ import annotations

import random

import pytest
from hypothesis import given, strategies as st
from scipy import stats

from demeanor.statistics.false_discovery import adjusted

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=40)


def test_the_published_example() -> None:
    """Reference numbers."""
    assert adjusted([0.01, 0.02, 0.03, 0.04, 0.5]) == pytest.approx([0.05, 0.05, 0.05, 0.05, 0.5])
    assert adjusted([]) == []


@given(p_values=P_VALUES)
def test_it_agrees_with_scipy(p_values: list[float]) -> None:
    """For any p-values, in any order."""
    assert adjusted(p_values) == pytest.approx(list(stats.false_discovery_control(p_values)), abs=1e-12)


@given(p_values=P_VALUES, lower=st.floats(0, 1), data=st.data())
def test_lowering_one_p_value_never_raises_another(p_values: list[float], lower: float, data: st.DataObject) -> None:
    """Early stopping relies on this."""
    index = data.draw(st.integers(0, len(p_values) - 1))
    less = [*p_values]
    less[index] = min(lower, less[index])
    assert all(a <= b + 1e-12 for a, b in zip(adjusted(less), adjusted(p_values), strict=True))


def test_the_false_discovery_rate_is_kept() -> None:
    """At 10 %, on average at most a tenth of the discoveries are false."""
    rng = random.Random(11)
    shares = []
    for _ in range(400):
        p_values = [rng.random() for _ in range(40)] + [rng.random() ** 8 for _ in range(10)]
        called = [index for index, p in enumerate(adjusted(p_values)) if p <= 0.1]
        shares.append(sum(index < 40 for index in called) / max(1, len(called)))
    assert sum(shares) / len(shares) <= 0.1


def test_invalid_p_values_are_refused() -> None:
    """Above 1."""
    with pytest.raises(ValueError, match="between 0 and 1"):
        adjusted([1.1])
