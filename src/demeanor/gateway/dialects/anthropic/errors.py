"""Error responses of the Anthropic dialect."""

from __future__ import annotations

from demeanor.core.exchange import ErrorReason, ProviderError
from demeanor.gateway.dialects.dialect import WireFormat
from demeanor.gateway.dialects.errors import status_of
from demeanor.gateway.dialects.json_reader import Json, to_json

_OVERLOADED = 529
_TYPES: dict[ErrorReason, str] = {
    "rate_limit": "rate_limit_error",
    "auth": "authentication_error",
    "bad_request": "invalid_request_error",
    "cassette": "invalid_request_error",
    "prefix": "invalid_request_error",
    "overloaded": "overloaded_error",
    "stalled": "timeout_error",
    "budget": "billing_error",
}


def error_body(error: ProviderError) -> Json:
    """The body of an error response, and the data of an error event in a stream."""
    return {"type": "error", "error": {"type": _TYPES.get(error.reason, "api_error"), "message": error.message}}


def write_error(error: ProviderError) -> WireFormat:
    """An error response for Anthropic's clients."""
    status = _OVERLOADED if error.reason == "overloaded" and error.status is None else status_of(error)
    return WireFormat(body=to_json(error_body(error)), status=status)
