"""The dialects by name, with what packages that can't import the gateway need to know of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class DialectFacts:
    """What is known of a dialect outside of the gateway."""

    base_path: str
    """What the clients of this API expect at the end of a base URL."""

    provider: str
    """The provider whose API it is, as OpenTelemetry's `gen_ai.provider.name`."""


DIALECT_FACTS: Mapping[str, DialectFacts] = {
    "openai-chat": DialectFacts(base_path="/v1", provider="openai"),
    "openai-responses": DialectFacts(base_path="/v1", provider="openai"),
    "anthropic": DialectFacts(base_path="", provider="anthropic"),
    "gemini": DialectFacts(base_path="", provider="gcp.gemini"),
}
"""Every dialect; the gateway has a package of the same name for each, and tries them in this order."""
