"""Refusals in the words of OpenAI, for both of its APIs."""

from __future__ import annotations

from demeanor.core.exchange import ProviderError
from demeanor.gateway.dialects.dialect import WireFormat
from demeanor.gateway.dialects.json_reader import Json, dump
from demeanor.gateway.dialects.refusal import Reason, status_of

_TYPES: dict[Reason, tuple[str, str | None]] = {
    "rate_limit": ("rate_limit_error", "rate_limit_exceeded"),
    "auth": ("authentication_error", "invalid_api_key"),
    "bad_request": ("invalid_request_error", None),
    "cassette": ("invalid_request_error", "cassette"),
    "overloaded": ("server_error", "overloaded"),
    "budget": ("insufficient_quota", "insufficient_quota"),
}


def error_body(error: ProviderError) -> Json:
    """The body of a refusal."""
    kind, code = _TYPES.get(error.reason, ("server_error", error.reason))
    return {"error": {"message": error.message, "type": kind, "param": None, "code": code}}


def write_error(error: ProviderError) -> WireFormat:
    """A refusal, as OpenAI's clients understand it."""
    return WireFormat(body=dump(error_body(error)), status=status_of(error))
