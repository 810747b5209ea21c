"""What a provider's refusal means, in the words of ProviderError, and which status tells it to a client."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from demeanor.core.exchange import ProviderError
from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.dialects.json_reader import parse

Reason: TypeAlias = Literal[
    "rate_limit", "auth", "bad_request", "overloaded", "server", "unreachable", "stalled", "cut", "budget", "cassette"
]

STATUS: dict[Reason, int] = {
    "rate_limit": 429,
    "auth": 401,
    "bad_request": 400,
    "overloaded": 503,
    "server": 500,
    "unreachable": 502,
    "stalled": 504,
    "cut": 502,
    "budget": 402,
    "cassette": 400,
}
"""400 and 402 are what a client does not try again."""

_REASONS: dict[int, Reason] = {
    401: "auth",
    402: "budget",
    403: "auth",
    408: "stalled",
    429: "rate_limit",
    502: "unreachable",
    503: "overloaded",
    504: "stalled",
    529: "overloaded",
}
_SECRETS = re.compile(r"\b(?:sk|rk|pk|key)-[\w*.-]{6,}|\bAIza[\w-]{10,}|(?<=Bearer )\S+")
_LONGEST = 2000


def reason_of(status: int) -> Reason:
    """What a status means."""
    return _REASONS.get(status, "bad_request" if 400 <= status < 500 else "server")


def status_of(error: ProviderError) -> int:
    """The status that tells `error` to a client: the provider's own, where it was one of failure."""
    return error.status if error.status is not None and 400 <= error.status <= 599 else STATUS[error.reason]


def redacted(text: str) -> str:
    """`text` without anything that looks like a key."""
    return _SECRETS.sub("[redacted]", text)[:_LONGEST]


def read_refusal(status: int, body: bytes, headers: Mapping[str, str]) -> ProviderError:
    """The error in a provider's answer: `error.message`, or whatever else it says. Never raises."""
    try:
        found = parse(body)
    except Malformed:
        found = body.decode("utf-8", "replace").strip()
    if isinstance(found, list) and found:
        found = found[0]
    return ProviderError(status=status, reason=reason_of(status), message=message_in(found) or f"status {status}")


def message_in(found: Any) -> str:
    """The message in an error's data, redacted."""
    for key in ("error", "message"):
        if isinstance(found, dict) and found.get(key):
            found = found[key]
    return redacted(found if isinstance(found, str) else str(found or ""))


def broken(message: str, *, cut: bool = False) -> ProviderError:
    """The error of a stream that began well."""
    return ProviderError(status=200, reason="cut" if cut else "server", message=redacted(message))
