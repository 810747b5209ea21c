"""Error responses of both OpenAI dialects."""

from __future__ import annotations

from demeanor.core.exchange import ErrorReason, ProviderError
from demeanor.gateway.dialects.dialect import WireFormat
from demeanor.gateway.dialects.errors import status_of
from demeanor.gateway.dialects.json_reader import Json, to_json

_TYPES: dict[ErrorReason, tuple[str, str | None]] = {
    "rate_limit": ("rate_limit_error", "rate_limit_exceeded"),
    "auth": ("authentication_error", "invalid_api_key"),
    "bad_request": ("invalid_request_error", None),
    "cassette": ("invalid_request_error", "cassette"),
    "prefix": ("invalid_request_error", "prefix"),
    "overloaded": ("server_error", "overloaded"),
    "budget": ("insufficient_quota", "insufficient_quota"),
}


def error_body(error: ProviderError) -> Json:
    """The body of an error response."""
    kind, code = _TYPES.get(error.reason, ("server_error", error.reason))
    return {"error": {"message": error.message, "type": kind, "param": None, "code": code}}


def write_error(error: ProviderError) -> WireFormat:
    """An error response for OpenAI's clients."""
    return WireFormat(body=to_json(error_body(error)), status=status_of(error))
