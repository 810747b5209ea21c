from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from demeanor.statistics.at_k import is_rough, pass_at_k, pass_hat_k

COUNTS = st.integers(1, 60).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


def test_pass_at_k_gives_the_published_numbers() -> None:
    """Reference numbers of the literature."""
    assert pass_at_k(10, 3, 5) == pytest.approx(0.916667, abs=1e-6)
    assert pass_at_k(200, 20, 10) == pytest.approx(0.660226, abs=1e-6)
    assert [pass_at_k(5, 1, k) for k in range(1, 6)] == pytest.approx([0.2, 0.4, 0.6, 0.8, 1 - 0.8**5])


def test_pass_hat_k_gives_the_published_numbers() -> None:
    """Reference numbers of the literature."""
    assert pass_hat_k(10, 3, 2) == pytest.approx(0.066667, abs=1e-6)
    assert pass_hat_k(8, 7, 4) == pytest.approx(0.5)
    assert [pass_hat_k(5, 4, k) for k in range(1, 6)] == pytest.approx([0.8, 0.6, 0.4, 0.2, 0.8**5])


def test_two_of_three_is_96_and_30_percent() -> None:
    """The usual example: with no more than k trials, the observed rate is taken for the true one."""
    assert (pass_at_k(3, 2, 3), pass_hat_k(3, 2, 3)) == pytest.approx((26 / 27, 8 / 27))
    assert (pass_at_k(2, 1, 3), pass_hat_k(2, 1, 3)) == (0.875, 0.125)
    assert [is_rough(judged, 3) for judged in range(5)] == [False, True, True, True, False]


def test_without_a_trial_it_is_undefined_and_not_zero() -> None:
    """Nothing is known."""
    assert pass_at_k(0, 0, 1) is None
    assert pass_hat_k(0, 0, 3) is None


@given(counts=COUNTS)
def test_for_one_trial_everything_is_the_pass_rate(counts: tuple[int, int]) -> None:
    """pass@1 == pass^1 == c/n, exactly."""
    n, c = counts
    for estimate in (pass_at_k, pass_hat_k):
        assert estimate(n, c, 1) == c / n


@given(counts=COUNTS)
def test_pass_at_k_grows_with_k_and_pass_hat_k_shrinks(counts: tuple[int, int]) -> None:
    """More trials make one success likelier and many less likely."""
    n, c = counts
    at = [pass_at_k(n, c, k) or 0.0 for k in range(1, n)]
    hat = [pass_hat_k(n, c, k) or 0.0 for k in range(1, n)]
    assert at == sorted(at)
    assert hat == sorted(hat, reverse=True)


@given(n=st.integers(1, 60), data=st.data())
def test_both_grow_with_the_passes(n: int, data: st.DataObject) -> None:
    """A further pass never makes anything worse."""
    k = data.draw(st.integers(1, n))
    for estimate in (pass_at_k, pass_hat_k):
        values = [estimate(n, c, k) or 0.0 for c in range(n + 1)]
        assert values == sorted(values)
        assert (values[0], values[-1]) == (0.0, 1.0)


@given(n=st.integers(2, 8), data=st.data())
def test_the_estimators_are_the_mean_over_all_choices_of_k_trials(n: int, data: st.DataObject) -> None:
    """By enumeration of the choices."""
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n - 1))
    chosen = list(combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, chosen)) / len(chosen))
    assert pass_hat_k(n, c, k) == pytest.approx(sum(map(all, chosen)) / len(chosen))


@given(n=st.integers(2, 20), p=st.floats(0, 1), data=st.data())
def test_the_estimators_are_unbiased(n: int, p: float, data: st.DataObject) -> None:
    """With more than k trials, their mean over all outcomes is the truth: 1-(1-p)^k and p^k."""
    k = data.draw(st.integers(1, n - 1))
    chances = [math.comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)]
    at = math.fsum(chance * (pass_at_k(n, c, k) or 0.0) for c, chance in enumerate(chances))
    hat = math.fsum(chance * (pass_hat_k(n, c, k) or 0.0) for c, chance in enumerate(chances))
    assert (at, hat) == pytest.approx((1 - (1 - p) ** k, p**k), abs=1e-9)


def test_invalid_arguments_are_refused() -> None:
    """An impossible count is an error, not a probability."""
    for estimate in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match="passed=4 of judged=3"):
            estimate(3, 4, 1)
        with pytest.raises(ValueError, match="k=0"):
            estimate(3, 3, 0)
