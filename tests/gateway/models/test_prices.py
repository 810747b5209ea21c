"""Prices: an unknown cost is never zero."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from demeanor.config.table import Table
from demeanor.core.values.errors import BadInput
from demeanor.core.values.exchange import Usage
from demeanor.gateway.models.prices import FREE, Price, cost, missing_rates, read_price

PRICE = Price(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75)
COUNTS = st.integers(min_value=0, max_value=10**7)


def test_every_kind_of_token_has_its_own_price() -> None:
    """Cached tokens are part of the input and are not charged twice."""
    usage = Usage(input=1_000_000, output=100_000, cache_read=600_000, cache_write=200_000, reasoning=50_000)
    assert cost(usage, PRICE) == pytest.approx(0.2 * 3.0 + 0.6 * 0.3 + 0.2 * 3.75 + 0.1 * 15.0)


@pytest.mark.parametrize(
    ("usage", "price"),
    [
        (Usage(input=1, output=1), None),
        (Usage(input=1), PRICE),
        (Usage(output=1), PRICE),
        (Usage(), PRICE),
    ],
)
def test_unknown_is_not_zero(usage: Usage, price: Price | None) -> None:
    """Without a price or a count, the cost is unknown."""
    assert cost(usage, price) is None


@pytest.mark.parametrize("kind", ["cache_read", "cache_write"])
def test_cached_tokens_without_a_rate_cost_as_much_as_input(kind: str) -> None:
    """The rates that were missing are named."""
    partial = Price(input=3.0, output=15.0)
    usage = replace(Usage(input=1_000_000, output=0), **{kind: 400_000})
    assert cost(usage, partial) == pytest.approx(3.0)
    assert missing_rates(usage, partial) == (kind,)
    assert missing_rates(usage, PRICE) == missing_rates(Usage(input=1, output=1), partial) == ()


def test_a_long_request_has_the_price_of_its_tier() -> None:
    """The tier of all tokens is chosen by the number of input tokens, which must exceed its start."""
    price = replace(PRICE, tiers=((200, Price(input=6.0, output=22.5)), (400, Price(input=12.0, output=30.0))))
    million = 1_000_000
    assert cost(Usage(input=200, output=2), price) == pytest.approx((200 * 3 + 2 * 15) / million)
    assert cost(Usage(input=201, output=2), price) == pytest.approx((201 * 6 + 2 * 22.5) / million)
    assert cost(Usage(input=500, output=2), price) == pytest.approx((500 * 12 + 2 * 30) / million)


def test_free_is_known() -> None:
    """A free model costs nothing, with or without token counts."""
    assert cost(Usage(), FREE) == 0.0


@given(COUNTS, COUNTS, COUNTS, COUNTS)
def test_costs_add_up(one: int, two: int, three: int, four: int) -> None:
    """Two exchanges cost as much as their tokens together."""
    apart = [cost(Usage(input=a, output=b), PRICE) for a, b in ((one, two), (three, four))]
    together = cost(Usage(input=one + three, output=two + four), PRICE)
    assert together == pytest.approx(sum(found or 0.0 for found in apart))


def test_a_price_is_read_strictly() -> None:
    """A price without output, or with a misspelt key, is refused with the remedy."""
    assert read_price(Table({"input": 1, "output": 2.5}, where="x")) == Price(input=1.0, output=2.5)
    with pytest.raises(BadInput, match="output: is required"):
        read_price(Table({"input": 1}, where="x"))
    with pytest.raises(BadInput, match="did you mean 'cache_read'"):
        read_price(Table({"input": 1, "output": 2, "cached_read": 3}, where="x"))
    with pytest.raises(BadInput, match="of at least 0"):
        read_price(Table({"input": -1, "output": 2}, where="x"))
