"""Providers that need no table in the configuration."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from demeanor.core.values.dialects import DIALECT_FACTS


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownProvider:
    """Where a provider is, and what it speaks."""

    base_url: str
    """Its base URL."""

    dialects: str
    """Its wire formats, separated by spaces."""

    key_env: str
    """The variable that usually contains its key."""


WELL_KNOWN: Mapping[str, KnownProvider] = {
    "openai": KnownProvider(
        base_url="https://api.openai.com/v1", dialects="openai-chat openai-responses", key_env="OPENAI_API_KEY"
    ),
    "anthropic": KnownProvider(base_url="https://api.anthropic.com", dialects="anthropic", key_env="ANTHROPIC_API_KEY"),
    "gemini": KnownProvider(
        base_url="https://generativelanguage.googleapis.com", dialects="gemini", key_env="GEMINI_API_KEY"
    ),
    "openrouter": KnownProvider(
        base_url="https://openrouter.ai/api/v1", dialects="openai-chat", key_env="OPENROUTER_API_KEY"
    ),
    "cline": KnownProvider(base_url="https://api.cline.bot/api/v1", dialects="openai-chat", key_env="CLINE_API_KEY"),
}
"""The well-known providers, by name."""

_FAMILIES = {
    "anthropic": re.compile(r"claude-.+"),
    "gemini": re.compile(r"gemini-.+"),
    "openai": re.compile(r"(gpt|chatgpt|codex)-.+|o\d(-.+)?"),
}


def asked_itself(hosts: Iterable[str]) -> str:
    """What to tell the author of an agent that asked for hosts which its sandbox does not reach; empty for none."""
    names = tuple(dict.fromkeys(hosts))
    if not names:
        return ""
    dialects = {urlsplit(provider.base_url).hostname: provider.dialects.split()[0] for provider in WELL_KNOWN.values()}
    host = next((name for name in names if name in dialects), "")
    variable = DIALECT_FACTS[dialects[host]].url_env[0] if host else "the variable that base_url_env names"
    meant = "" if host else ", if that is its model's,"
    return f"it asked for {host or ', '.join(names)} itself: let it read its base URL{meant} from {variable}"


def maker_of(model: str) -> str | None:
    """The well-known provider that makes a model, such as `claude-sonnet-4-20250514`; None if its name does not say."""
    return next((provider for provider, names in _FAMILIES.items() if names.fullmatch(model)), None)
