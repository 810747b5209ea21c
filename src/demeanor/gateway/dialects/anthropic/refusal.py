"""Refusals in the words of Anthropic."""

from __future__ import annotations

from demeanor.core.exchange import ProviderError
from demeanor.gateway.dialects.dialect import WireFormat
from demeanor.gateway.dialects.json_reader import Json, dump
from demeanor.gateway.dialects.refusal import Reason, message_in, reason_of, status_of

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
    """The body of a refusal, and the event that tells one in the middle of a stream."""
    return {"type": "error", "error": {"type": _TYPES.get(error.reason, "api_error"), "message": error.message}}


def write_error(error: ProviderError) -> WireFormat:
    """A refusal, as Anthropic's clients understand it."""
    status = _OVERLOADED if error.reason == "overloaded" and error.status is None else status_of(error)
    return WireFormat(body=dump(error_body(error)), status=status)


def read_stream_error(data: Json) -> ProviderError:
    """An error told in the middle of a stream."""
    error = data.get("error")
    kind = error.get("type") if isinstance(error, dict) else None
    status = _STATUS.get(str(kind), 500)
    return ProviderError(status=status, reason=reason_of(status), message=message_in(data))
