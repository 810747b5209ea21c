"""Conversions between the forms in which dialects express the same thing.

Tool arguments are JSON text or an object, reasoning effort is a word or a number of tokens, pictures and files are
separate fields or a data URL, and every dialect has its own words for stop reasons.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from demeanor.core.values.exchange import Reasoning, StopReason
from demeanor.core.values.messages import Part, ToolCall
from demeanor.gateway.dialects.strict_json import arguments, compact

INVALID = "INVALID_JSON"
"""The key for arguments that are not a JSON object, as Anthropic recommends."""

REFUSAL = "refusal"
"""The key of `extra` that marks a Text as the model's refusal, for which some dialects have a field of its own."""

FREE_TEXT: Mapping[str, Any] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}
"""The schema of a tool that takes plain text, for dialects without such tools."""

BUDGETS = {"none": 0, "minimal": 1024, "low": 4096, "medium": 8192, "high": 16384, "xhigh": 32768, "max": 32768}
"""Tokens for each word. The words have no agreed size; these are in the range that providers document."""

_DATA_URL = re.compile(r"data:([\w.+/-]+);base64,([A-Za-z0-9+/=_-]*)", re.ASCII)


def arguments_object(call: ToolCall) -> Any:
    """The arguments of a call as an object; if they are not a JSON object, an object that contains their text."""
    return {INVALID: call.raw} if call.arguments is None else call.arguments


def read_arguments_object(data: Any) -> tuple[dict[str, Any] | None, str]:
    """The arguments from an object, and their text."""
    if data is None:
        return {}, ""
    if isinstance(data, str):
        return arguments(data), data
    if not isinstance(data, dict):
        return None, compact(data)
    if data.keys() == {INVALID} and isinstance(data[INVALID], str):
        return None, data[INVALID]
    return data, compact(data)


def budget_of(reasoning: Reasoning) -> int | None:
    """The number of tokens for reasoning; 0 for none at all, None if the provider decides."""
    if reasoning.budget is not None:
        return reasoning.budget if reasoning.budget >= 0 else None
    return BUDGETS.get(reasoning.effort or "")


def effort_of(reasoning: Reasoning) -> str | None:
    """The word for the reasoning effort."""
    if reasoning.effort is not None or reasoning.budget is None or reasoning.budget < 0:
        return reasoning.effort
    return next((word for word, budget in BUDGETS.items() if reasoning.budget <= budget), "high")


def split_data_url(url: str | None) -> tuple[str, str] | None:
    """Media type and base64 content of a data URL; None if it is not one."""
    match = _DATA_URL.fullmatch(url or "")
    return (match[1], match[2]) if match else None


def data_url(media_type: str, data: str) -> str:
    """The data URL with the content."""
    return f"data:{media_type};base64,{data}"


def is_refusal(part: Part) -> bool:
    """Whether a part is the model's refusal."""
    return REFUSAL in part.extra


def stop_reason(word: str | None, words: Mapping[str, StopReason], *, calls: bool, refused: bool = False) -> StopReason:
    """The stop reason for a dialect's word. Many servers report a normal end although there are calls or a refusal."""
    reason = words.get(word or "", StopReason.UNKNOWN)
    if reason is not StopReason.END:
        return reason
    if calls:
        return StopReason.TOOL_USE
    return StopReason.REFUSAL if refused else reason
