"""Arguments of tool calls in dialects that send them as objects, not as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from demeanor.core.messages import ToolCall
from demeanor.gateway.dialects.strict_json import arguments, compact

INVALID = "INVALID_JSON"
"""The key under which arguments that are no JSON object are told, as Anthropic advises."""

FREE_TEXT: Mapping[str, Any] = {
    "type": "object",
    "properties": {"input": {"type": "string"}},
    "required": ["input"],
}
"""The schema of a tool that takes plain text, for dialects that have no such tools."""


def as_object(call: ToolCall) -> Any:
    """The arguments of a call; what is no JSON object is told in one."""
    return {INVALID: call.raw} if call.arguments is None else call.arguments


def from_object(told: Any) -> tuple[dict[str, Any] | None, str]:
    """The arguments that were told, and their text."""
    if told is None:
        return {}, ""
    if isinstance(told, str):
        return arguments(told), told
    if not isinstance(told, dict):
        return None, compact(told)
    if told.keys() == {INVALID} and isinstance(told[INVALID], str):
        return None, told[INVALID]
    return told, compact(told)
