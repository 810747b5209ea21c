"""Equivalent spellings of a request: every API accepts a string where a list with one text is meant, and vice versa."""

from __future__ import annotations

from typing import Any

_KEYS = frozenset({"content", "system", "instructions"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
_TEXT_TYPES = frozenset({"text", "input_text", "output_text"})
_TEXT_KEYS = frozenset({"type", "text"})


def spellings(request: Any) -> tuple[Any, Any]:
    """The request with a string for every single text, and with a list for every string."""
    return _with_strings(request), _with_lists(request)


def _with_strings(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_strings(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _single_text(item) if _is_content(value, key) else _with_strings(item) for key, item in value.items()}


def _single_text(value: Any) -> Any:
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        (part,) = value
        if part.get("type") in _TEXT_TYPES and {key for key in part if part[key]} == _TEXT_KEYS:
            return part["text"]
    return _with_strings(value)


def _with_lists(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_lists(item) for item in value]
    if not isinstance(value, dict):
        return value
    kind = _text_type(value)
    return {
        key: [{"type": kind, "text": item}]
        if item and isinstance(item, str) and _is_content(value, key)
        else _with_lists(item)
        for key, item in value.items()
    }


def _is_content(owner: dict[str, Any], key: str) -> bool:
    return key in _KEYS or (key == "output" and owner.get("type") in _OUTPUTS)


def _text_type(owner: dict[str, Any]) -> str:
    """The type of a text in this object; only the Responses API distinguishes input from output."""
    if owner.get("type") not in {"message", *_OUTPUTS} and "input" not in owner:
        return "text"
    return "output_text" if owner.get("role") == "assistant" else "input_text"
