"""Token prices. An unknown price makes the cost unknown; it never counts as zero.

The price of a model is the one that the configuration sets, or else the one of the price list (`price_list.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from demeanor.config import Table
    from demeanor.core.values.exchange import Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """US dollars per million tokens. A rate for cached tokens that is None is the rate of the input."""

    input: float
    """Tokens of the request that are in no cache."""

    output: float
    """Tokens of the response, reasoning included."""

    cache_read: float | None = None
    """Tokens of the request read from a cache."""

    cache_write: float | None = None
    """Tokens of the request written to a cache."""

    tiers: tuple[tuple[int, Price], ...] = ()
    """Prices of long requests: input tokens, ascending → the price of a request with more of them than that."""

    def at(self, tokens: int) -> Price:
        """The price of a request with this many input tokens."""
        return next((price for start, price in reversed(self.tiers) if tokens > start), self)


FREE = Price(input=0.0, output=0.0, cache_read=0.0, cache_write=0.0)
"""The price of a model that is known to cost nothing."""


def cost(usage: Usage, price: Price | None) -> float | None:
    """The cost of an exchange in US dollars; None if its price or a token count is unknown."""
    if price is None:
        return None
    if price == FREE:
        return 0.0
    if usage.input is None or usage.output is None:
        return None
    price = price.at(usage.input)
    read, written = usage.cache_read or 0, usage.cache_write or 0
    total = (
        max(0, usage.input - read - written) * price.input
        + read * (price.input if price.cache_read is None else price.cache_read)
        + written * (price.input if price.cache_write is None else price.cache_write)
        + usage.output * price.output
    )
    return total / 1_000_000


def missing_rates(usage: Usage, price: Price | None) -> tuple[str, ...]:
    """The rates for cached tokens that the cost of an exchange needed and that the price does not have."""
    used = {"cache_read": usage.cache_read, "cache_write": usage.cache_write}
    return tuple(name for name, tokens in used.items() if tokens and price and getattr(price, name) is None)


def read_price(table: Table) -> Price:
    """Read a price from the configuration: `input`, `output` and optionally `cache_read`, `cache_write`."""
    values = {key: table.number(key, least=0.0) for key in ("input", "output", "cache_read", "cache_write")}
    table.finish()
    for key in ("input", "output"):
        if values[key] is None:
            table.fail(key, "is required", "write US dollars per million tokens; omit `price` if it is unknown")
    return Price(**values)  # type: ignore[arg-type]  # input and output were checked just above
