from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from demeanor.statistics.beta import cdf, quantile


@given(n=st.integers(1, 300), data=st.data())
def test_the_cdf_is_the_tail_of_a_binomial(n: int, data: st.DataObject) -> None:
    """I_x(c, n-c+1) is the probability of at least c passes, which can be summed exactly."""
    c = data.draw(st.integers(1, n))
    x = data.draw(st.floats(0.001, 0.999))
    tail = math.fsum(math.comb(n, i) * x**i * (1 - x) ** (n - i) for i in range(c, n + 1))
    assert cdf(x, c, n - c + 1) == pytest.approx(tail, abs=1e-10)


@given(a=st.floats(0.5, 500), b=st.floats(0.5, 500), q=st.floats(0.001, 0.999))
def test_the_quantile_undoes_the_cdf(a: float, b: float, q: float) -> None:
    """The inverse really is one."""
    assert cdf(quantile(q, a, b), a, b) == pytest.approx(q, abs=1e-9)


@given(a=st.floats(0.5, 50), b=st.floats(0.5, 50), x=st.floats(0, 1))
def test_the_cdf_is_its_own_mirror_image(a: float, b: float, x: float) -> None:
    """Passes and fails may change places."""
    assert cdf(x, a, b) == pytest.approx(1 - cdf(1 - x, b, a), abs=1e-10)


def test_the_cdf_of_the_arcsine_distribution_is_known_in_closed_form() -> None:
    """Beta(½, ½) has 2/π · asin √x."""
    for x in (0.01, 0.3, 0.5, 0.97):
        assert cdf(x, 0.5, 0.5) == pytest.approx(2 / math.pi * math.asin(math.sqrt(x)), abs=1e-12)


def test_the_ends_are_exact() -> None:
    """0 below 0, and 1 above 1."""
    assert (cdf(-1, 2, 3), cdf(0, 2, 3), cdf(1, 2, 3), cdf(2, 2, 3)) == (0, 0, 1, 1)


def test_invalid_arguments_are_refused() -> None:
    """A wrong parameter is an error, not a number."""
    with pytest.raises(ValueError, match="above 0"):
        cdf(0.5, 0, 1)
    with pytest.raises(ValueError, match=r"q=1\.5"):
        quantile(1.5, 1, 1)
