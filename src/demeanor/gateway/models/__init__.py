"""Models: providers, the registry of configured models, prices and rate limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from demeanor.core.lazy_names import lazy_names

if TYPE_CHECKING:
    from demeanor.gateway.models.prices import Price as Price, cost as cost
    from demeanor.gateway.models.provider import Provider as Provider
    from demeanor.gateway.models.rate_limit import RateLimiter as RateLimiter
    from demeanor.gateway.models.registry import ModelRegistry as ModelRegistry
    from demeanor.gateway.models.upstream import Upstream as Upstream

__getattr__ = lazy_names(
    __name__,
    {
        "prices": "Price cost",
        "provider": "Provider",
        "rate_limit": "RateLimiter",
        "registry": "ModelRegistry",
        "upstream": "Upstream",
    },
)
