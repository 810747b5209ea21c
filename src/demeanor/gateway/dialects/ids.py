"""Ids of calls and responses: each provider has its own rules for them.

Every rule is a pure function of the id, so a call and its result always get the same id.
"""

from __future__ import annotations

import hashlib
import re

CHAT_LIMIT = 40
"""The longest tool call id that OpenAI's chat API accepts."""

RESPONSES_LIMIT = 64
"""The longest call id that OpenAI's Responses API accepts."""

_DIGEST = 16
_ALLOWED = re.compile(r"[a-zA-Z0-9_-]+")


def digest(*seeds: object) -> str:
    """A short text that depends only on the seeds."""
    return hashlib.sha256("\0".join(map(str, seeds)).encode("utf-8", "replace")).hexdigest()[:_DIGEST]


def generated(prefix: str, *seeds: object) -> str:
    """A generated id, the same for the same seeds."""
    return f"{prefix}{digest(*seeds)}"


def shorten(original: str, limit: int) -> str:
    """`original` in at most `limit` characters; ids that differ stay different."""
    if len(original) <= limit:
        return original
    return f"{original[: limit - _DIGEST - 1]}_{digest(original)}"


def for_chat(original: str) -> str:
    """`original` as the chat API accepts it; an item id of the Responses API becomes a call id."""
    if len(original) <= CHAT_LIMIT:
        return original
    readable = f"call_{original[3:]}" if original.startswith("fc_") else original
    return f"{readable[: CHAT_LIMIT - _DIGEST - 1]}_{digest(original)}"


def for_responses(original: str) -> str:
    """`original` as the Responses API accepts it."""
    return shorten(original, RESPONSES_LIMIT)


def item_id(prefix: str, original: str) -> str:
    """The id of an output item, which must start with the prefix of its type."""
    bare = original.removeprefix("call_").removeprefix("fc_")
    return shorten(original if original.startswith(prefix) else f"{prefix}{bare}", RESPONSES_LIMIT)


def for_anthropic(original: str) -> str:
    """`original` with only the characters that Anthropic allows."""
    if _ALLOWED.fullmatch(original):
        return original
    return f"{re.sub(r'[^a-zA-Z0-9_-]', '_', original)}_{digest(original)}"
