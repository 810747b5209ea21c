"""Names of calls and answers: each provider has its own rules for them.

Every rule is a pure function of the id, so a call and its result come out the same wherever they stand.
"""

from __future__ import annotations

import hashlib
import re

CHAT_LIMIT = 40
"""OpenAI's chat API refuses longer ids of tool calls."""

RESPONSES_LIMIT = 64
"""OpenAI's Responses API refuses longer call ids."""

_DIGEST = 16
_PLAIN = re.compile(r"[a-zA-Z0-9_-]+")


def digest(*seeds: object) -> str:
    """A short name that depends on the seeds alone."""
    return hashlib.sha256("\0".join(map(str, seeds)).encode("utf-8", "replace")).hexdigest()[:_DIGEST]


def made(prefix: str, *seeds: object) -> str:
    """An id where the wire has none, the same for the same seeds."""
    return f"{prefix}{digest(*seeds)}"


def shortened(given: str, limit: int) -> str:
    """`given` in at most `limit` characters; ids that differ stay different."""
    if len(given) <= limit:
        return given
    return f"{given[: limit - _DIGEST - 1]}_{digest(given)}"


def for_chat(given: str) -> str:
    """`given` as the chat API takes it; an item id of the Responses API becomes a call id on the way."""
    if len(given) <= CHAT_LIMIT:
        return given
    readable = f"call_{given[3:]}" if given.startswith("fc_") else given
    return f"{readable[: CHAT_LIMIT - _DIGEST - 1]}_{digest(given)}"


def for_responses(given: str) -> str:
    """`given` as the Responses API takes it."""
    return shortened(given, RESPONSES_LIMIT)


def item_id(prefix: str, given: str) -> str:
    """The id of an output item, which must begin with the prefix of its kind."""
    bare = given.removeprefix("call_").removeprefix("fc_")
    return shortened(given if given.startswith(prefix) else f"{prefix}{bare}", RESPONSES_LIMIT)


def for_anthropic(given: str) -> str:
    """`given` in the letters that Anthropic allows."""
    if _PLAIN.fullmatch(given):
        return given
    return f"{re.sub(r'[^a-zA-Z0-9_-]', '_', given)}_{digest(given)}"
