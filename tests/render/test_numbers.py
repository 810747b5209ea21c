from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from demeanor.core.text.wording import count
from demeanor.core.values.evidence import Spent
from demeanor.core.values.tally import Estimate
from demeanor.render.numbers import duration, money, numbers, percent, rate, tokens, tokens_and_cost


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0 %"), (1, "100 %"), (2 / 3, "67 %"), (0.999, ">99 %"), (0.001, "<1 %"), (0.995, ">99 %"), (None, "n/a")],
)
def test_a_rate_is_never_rounded_to_certainty(value: float | None, shown: str) -> None:
    """Only a true 1 is 100 %."""
    assert percent(value) == shown


@given(value=st.floats(0, 1))
def test_only_certainty_looks_certain(value: float) -> None:
    """For every rate there is."""
    assert (percent(value) == "100 %") == (value == 1)
    assert (percent(value) == "0 %") == (value == 0)


def test_a_rate_comes_with_its_interval() -> None:
    """As in 67 % [21–94]."""
    assert rate(Estimate(value=2 / 3, low=0.2077, high=0.9385)) == "67 % [21–94]"
    assert rate(None) == "n/a"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.7, "1 min 0 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_durations_have_two_units_at_most(seconds: float, shown: str) -> None:
    """And never as 60 seconds."""
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("cost", "unpriced", "shown"),
    [
        (None, 3, "n/a"),
        (0.0, 0, "$0.00"),
        (0.0123, 0, "$0.012"),
        (12.345, 0, "$12.35"),
        (0.5, 1, "≥ $0.50"),
        (1e-6, 0, "<$0.0001"),
    ],
)
def test_a_partly_known_cost_is_a_lower_bound(cost: float | None, unpriced: int, shown: str) -> None:
    """And an unknown one is not 0."""
    assert money(Spent(cost_usd=cost), unpriced) == shown


@pytest.mark.parametrize(
    ("number", "shown"), [(950, "950"), (1234, "1.2k"), (9960, "10k"), (999_499, "999k"), (1_340_000, "1.3M")]
)
def test_tokens_are_rounded(number: int, shown: str) -> None:
    """With a ≥ where some were not counted."""
    spent = Spent(input_tokens=number, output_tokens=0)
    assert (tokens(spent), tokens(spent, 1)) == (shown, f"≥ {shown}")
    assert tokens(Spent()) == "n/a"


def test_nouns_and_numbers_agree() -> None:
    """1 eval, 2 evals; trials 1–3, 1 and 3."""
    assert [count(n, "eval") for n in (0, 1, 2)] == ["0 evals", "1 eval", "2 evals"]
    assert [numbers(found) for found in ([2], [2, 3], [1, 2, 3], [1, 3, 7])] == ["2", "2 and 3", "1–3", "1, 3 and 7"]


def test_what_is_unknown_is_not_a_number() -> None:
    """A header says `tokens unknown`, not `n/a tokens`."""
    assert tokens_and_cost(Spent()) == "tokens unknown · cost unknown"
    assert tokens_and_cost(Spent(input_tokens=900, output_tokens=50, cost_usd=0.43)) == "950 tokens · $0.43"
