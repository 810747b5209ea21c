"""Error responses of the Anthropic dialect."""

from __future__ import annotations

from demeanor.core.exchange import ProviderError
from demeanor.gateway.dialects.dialect import WireFormat
from demeanor.gateway.dialects.errors import Reason, error_message, reason_of, status_of
from demeanor.gateway.dialects.json_reader import Json, to_json

_OVERLOADED = 529
_TYPES: dict[Reason, str] = {
    "rate_limit": "rate_limit_error",
    "auth": "authentication_error",
    "bad_request": "invalid_request_error",
    "cassette": "invalid_request_error",
    "overloaded": "overloaded_error",
    "stalled": "timeout_error",
    "budget": "billing_error",
}
_STATUS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": _OVERLOADED,
}


def error_body(error: ProviderError) -> Json:
    """The body of an error response, and the data of an error event in a stream."""
    return {"type": "error", "error": {"type": _TYPES.get(error.reason, "api_error"), "message": error.message}}


def write_error(error: ProviderError) -> WireFormat:
    """An error response for Anthropic's clients."""
    status = _OVERLOADED if error.reason == "overloaded" and error.status is None else status_of(error)
    return WireFormat(body=to_json(error_body(error)), status=status)


def read_stream_error(data: Json) -> ProviderError:
    """The error in an error event of a stream."""
    error = data.get("error")
    kind = error.get("type") if isinstance(error, dict) else None
    status = _STATUS.get(str(kind), 500)
    return ProviderError(status=status, reason=reason_of(status), message=error_message(data))
