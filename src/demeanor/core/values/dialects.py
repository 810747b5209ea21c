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

    url_env: tuple[str, ...]
    """The variables from which its official clients read the base URL."""

    key_env: str
    """The variable from which they read the key."""


_OPENAI = DialectFacts(
    base_path="/v1", provider="openai", url_env=("OPENAI_BASE_URL", "OPENAI_API_BASE"), key_env="OPENAI_API_KEY"
)

DIALECT_FACTS: Mapping[str, DialectFacts] = {
    "openai-chat": _OPENAI,
    "openai-responses": _OPENAI,
    "anthropic": DialectFacts(
        base_path="", provider="anthropic", url_env=("ANTHROPIC_BASE_URL",), key_env="ANTHROPIC_API_KEY"
    ),
    "gemini": DialectFacts(
        base_path="", provider="gcp.gemini", url_env=("GOOGLE_GEMINI_BASE_URL",), key_env="GEMINI_API_KEY"
    ),
}
"""Every dialect; the gateway has a package of the same name for each, and tries them in this order."""
