"""Token prices. An unknown price makes the cost unknown; it never counts as zero."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from demeanor.config.table import Table
    from demeanor.core.exchange import Usage


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """US dollars per million tokens; None if unknown."""

    input: float
    """Tokens of the request that are in no cache."""

    output: float
    """Tokens of the response, reasoning included."""

    cache_read: float | None = None
    """Tokens of the request read from a cache."""

    cache_write: float | None = None
    """Tokens of the request written to a cache."""


FREE = Price(input=0.0, output=0.0, cache_read=0.0, cache_write=0.0)
"""The price of a model that is known to cost nothing."""


def cost(usage: Usage, price: Price | None) -> float | None:
    """The cost of an exchange in US dollars; None if a price or a token count that matters is unknown."""
    if price is None:
        return None
    if price == FREE:
        return 0.0
    if usage.input is None or usage.output is None:
        return None
    read, written = usage.cache_read or 0, usage.cache_write or 0
    total = 0.0
    for tokens, rate in (
        (max(0, usage.input - read - written), price.input),
        (read, price.cache_read),
        (written, price.cache_write),
        (usage.output, price.output),
    ):
        if tokens and rate is None:
            return None
        total += tokens * (rate or 0.0)
    return total / 1_000_000


def read_price(table: Table) -> Price:
    """Read a price from the configuration: `input`, `output` and optionally `cache_read`, `cache_write`."""
    values = {key: table.number(key, least=0.0) for key in ("input", "output", "cache_read", "cache_write")}
    table.finish()
    for key in ("input", "output"):
        if values[key] is None:
            table.fail(key, "is required", "write US dollars per million tokens; omit `price` if it is unknown")
    return Price(**values)  # type: ignore[arg-type]  # input and output were checked just above
