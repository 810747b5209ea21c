"""Error responses of the Gemini dialect."""

from __future__ import annotations

from demeanor.core.exchange import ErrorReason, ProviderError
from demeanor.gateway.dialects.dialect import WireFormat
from demeanor.gateway.dialects.errors import status_of
from demeanor.gateway.dialects.json_reader import Json, to_json

_STATUS: dict[ErrorReason, str] = {
    "rate_limit": "RESOURCE_EXHAUSTED",
    "auth": "UNAUTHENTICATED",
    "bad_request": "INVALID_ARGUMENT",
    "cassette": "INVALID_ARGUMENT",
    "prefix": "INVALID_ARGUMENT",
    "overloaded": "UNAVAILABLE",
    "stalled": "DEADLINE_EXCEEDED",
    "budget": "FAILED_PRECONDITION",
}


def error_body(error: ProviderError) -> Json:
    """The body of an error response."""
    status = _STATUS.get(error.reason, "INTERNAL")
    return {"error": {"code": status_of(error), "message": error.message, "status": status}}


def write_error(error: ProviderError) -> WireFormat:
    """An error response for Google's clients."""
    return WireFormat(body=to_json(error_body(error)), status=status_of(error))
