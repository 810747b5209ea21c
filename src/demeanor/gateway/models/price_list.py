"""Prices of the well-known models, from the package genai-prices.

It is imported when the first model without a configured price is created, since that takes a quarter of a second.
Its prices are part of the package: nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from demeanor.gateway.models.prices import Price

if TYPE_CHECKING:
    from decimal import Decimal

    from genai_prices.types import ModelPrice, TieredPrices

_PACKAGE = "genai-prices"
_LONGEST_NAME = 200
"""Longer names of models are not looked up: agents choose them, and the package remembers each."""

_RATES = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
}


def listed_price(base_url: str, model: str) -> Price | None:
    """The price now of a model of the provider at a URL; None if the list does not have it.

    The URL decides and not the name of the provider: a proxy may charge something else.
    """
    if len(model) > _LONGEST_NAME:
        return None
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, info = get_snapshot().find_provider_model(model, None, None, base_url)
    except LookupError:
        return None
    return _price(info.get_prices(datetime.now(UTC)))


def price_list_version() -> str:
    """The name and version of the price list."""
    from importlib.metadata import version

    return f"{_PACKAGE} {version(_PACKAGE)}"


def _price(listed: ModelPrice) -> Price | None:
    """The listed price as ours; None if the model does not simply charge for tokens."""
    rates = {ours: getattr(listed, name) for ours, name in _RATES.items()}
    if rates["input"] is None or rates["output"] is None or listed.requests_kcount:
        return None
    starts = {tier.start for rate in rates.values() for tier in getattr(rate, "tiers", ())}
    tiers = tuple((start, _at(rates, start)) for start in sorted(starts))
    return replace(_at(rates, 0), tiers=tiers)


def _at(rates: Mapping[str, Decimal | TieredPrices | None], start: int) -> Price:
    """The price of requests with more input tokens than `start`."""
    flat: dict[str, Any] = {}
    for name, rate in rates.items():
        reached = [tier.price for tier in getattr(rate, "tiers", ()) if tier.start <= start]
        value: Any = reached[-1] if reached else getattr(rate, "base", rate)
        flat[name] = None if value is None else float(value)
    return Price(**flat)
