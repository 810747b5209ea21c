"""Provider errors: their reason, their HTTP status and their message."""

from __future__ import annotations

import re
from typing import Any

from demeanor.core.text.wording import shortened
from demeanor.core.values.exchange import ErrorReason, ProviderError
from demeanor.gateway.dialects.dialect import Malformed
from demeanor.gateway.dialects.json_reader import parse

STATUS: dict[ErrorReason, int] = {
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
    "prefix": 400,
}
"""400 and 402 are statuses that clients do not retry."""

_REASONS: dict[int, ErrorReason] = {
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
_STATUS_OF_WORD: dict[str, int] = {
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "overloaded": 503,
    "server_is_overloaded": 503,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status for the type or code of an error that has no status of its own."""

_OF_THE_REQUEST = re.compile(
    r"context.?(?:length|window)|maximum context|(?:prompt|input|request) is too l(?:ong|arge)|request.?too.?large"
    r"|max_(?:completion_|output_)?tokens|too many (?:input|prompt) tokens|string_above_max_length|input token count"
    r"|no such (?:organization|project)|(?:mismatched|invalid).(?:organization|project)|organization header"
    r"|moderat(?:ion|ed)|content.?(?:policy|filter|management)|\bflagged\b|invalid_prompt|safety system"
    r"|model.?not.?found|(?:unknown|no such) model|model\b.{0,80}\b(?:does not exist|not found|is not supported)"
    r"|(?:unknown|unsupported|invalid).(?:parameter|value|header)",
    re.IGNORECASE | re.DOTALL,
)
"""What a code or a message says if the request is to blame, whatever the status: its size, its context, its
organization, its content, its model, its parameters."""

_OF_THE_PROVIDER: dict[str, ErrorReason] = {
    "invalid_api_key": "auth",
    "api_key_invalid": "auth",
    "api_key_expired": "auth",
    "authentication_error": "auth",
    "account_deactivated": "auth",
    "billing_error": "budget",
    "billing_not_active": "budget",
    "billing_hard_limit_reached": "budget",
    "insufficient_quota": "rate_limit",
    "overloaded_error": "overloaded",
    "server_is_overloaded": "overloaded",
}
"""The reason for a code that says that the request is not to blame. Messages say so only with their first words,
because they may repeat any words of the request further on."""

_ACCOUNT = re.compile(
    r"(?:api key (?:not valid|expired)|(?:this|your) (?:organization|account) has been (?:disabled|deactivated)"
    r"|user location is not supported)|(your credit balance is too low)",
    re.IGNORECASE,
)
_ERROR_STATUS = re.compile(r"[45]\d\d", re.ASCII)
_SECRETS = re.compile(r"\b(?:sk|rk|pk|key)-[\w*.-]{6,}|\bAIza[\w-]{10,}|(?<=Bearer )\S+")
_MAX_MESSAGE = 2000
_NO_RESOURCES = "insufficient_system_resource"
"""The `finish_reason` with which DeepSeek breaks off a response. `error` alone may also mean the model's mistake."""


def reason_of(status: int) -> ErrorReason:
    """The reason for a status, if the error says nothing more."""
    return _REASONS.get(status, "bad_request" if 400 <= status < 500 else "server")


def status_of(error: ProviderError) -> int:
    """The status to send to a client: the provider's own, if it is an error status."""
    return error.status if error.status is not None and 400 <= error.status <= 599 else STATUS[error.reason]


def without_keys(text: str) -> str:
    """`text` without anything that looks like a key, for a recording."""
    return _SECRETS.sub("[redacted]", text)


def read_error(status: int, body: bytes) -> ProviderError:
    """The error in a provider's response, of any dialect: `error.message`, or whatever else it has. Never raises."""
    try:
        document = parse(body)
    except Malformed:
        document = body.decode("utf-8", "replace").strip()
    if isinstance(document, list) and document:
        document = document[0]
    return _provider_error(status, document, error_message(document) or f"status {status}")


def _provider_error(status: int, data: Any, message: str) -> ProviderError:
    """The error, told apart by what caused it: an agent can bring about any status with a request of its own."""
    error = data.get("error") or data if isinstance(data, dict) else None
    fields = error if isinstance(error, dict) else {}
    details = fields.get("details")
    reasons = (
        [detail.get("reason") for detail in details if isinstance(detail, dict)] if isinstance(details, list) else []
    )
    codes = [str(code).lower() for code in (fields.get("code"), fields.get("type"), *reasons) if code]
    account = _ACCOUNT.match(message)
    of_provider = next((_OF_THE_PROVIDER[code] for code in codes if code in _OF_THE_PROVIDER), None)
    if account is not None:
        of_provider = of_provider or ("budget" if account[1] else "auth")
    if of_provider is not None:
        reason = of_provider
    elif (
        fields.get("param")
        or any(map(_OF_THE_REQUEST.search, (*codes, message)))
        or (status >= 500 and "invalid_request_error" in codes)
    ):
        reason = "bad_request"
    else:
        reason = reason_of(status)
    return ProviderError(status=status, reason=reason, message=message)


def embedded_error(data: Any) -> ProviderError:
    """The error that a provider sent in a stream, or in a response whose status is not an error."""
    error = data.get("error") or data if isinstance(data, dict) else data
    words = [str(error.get(key)) for key in ("code", "type")] if isinstance(error, dict) else []
    statuses = (int(word) if _ERROR_STATUS.fullmatch(word) else _STATUS_OF_WORD.get(word) for word in words)
    status = next(filter(None, statuses), 500)
    return _provider_error(status, error, error_message(error))


def error_in_body(body: bytes) -> ProviderError | None:
    """The error in a response whose status is not an error, if there is one."""
    if b'"error"' not in body and _NO_RESOURCES.encode() not in body:
        return None
    try:
        document = parse(body)
    except Malformed:
        return None
    if not isinstance(document, dict):
        return None
    choices = document.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    return embedded_error(document) if document.get("error") else choice_error(first)


def choice_error(choice: Any) -> ProviderError | None:
    """The error in a choice of a chat completion: its own (OpenRouter), or a `finish_reason` that means one."""
    if not isinstance(choice, dict):
        return None
    if choice.get("error"):
        return embedded_error(choice)
    failed = choice.get("finish_reason") == _NO_RESOURCES
    return stream_error(f"the provider ended the response with finish_reason {_NO_RESOURCES}") if failed else None


def error_message(document: Any) -> str:
    """The message in an error's data."""
    for key in ("error", "message"):
        if isinstance(document, dict) and document.get(key):
            document = document[key]
    return shortened(document if isinstance(document, str) else str(document or ""), _MAX_MESSAGE)


def stream_error(message: str, *, cut: bool = False) -> ProviderError:
    """The error of a stream that started successfully."""
    return ProviderError(status=200, reason="cut" if cut else "server", message=shortened(message, _MAX_MESSAGE))
