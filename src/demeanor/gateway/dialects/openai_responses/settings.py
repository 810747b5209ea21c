"""Settings of the Responses dialect: sampling, reasoning, tool choice, the schema of the answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from demeanor.core.values.exchange import Reasoning, Request
from demeanor.gateway.dialects.conversions import effort_of
from demeanor.gateway.dialects.json_reader import (
    Json,
    maybe_flag,
    maybe_object,
    maybe_string,
    require_object,
)
from demeanor.gateway.dialects.openai_responses.tools import call_names
from demeanor.gateway.dialects.sampling import read_sampling, write_sampling

_SAMPLING = {"temperature": "temperature", "top_p": "top_p", "max_tokens": "max_output_tokens"}


def read_settings(top: Json, request: Request) -> Request:
    """`request` with the settings in `top`."""
    return replace(
        request,
        tool_choice=_read_choice(top),
        parallel_tools=maybe_flag(top, "parallel_tool_calls"),
        sampling=read_sampling(top, _SAMPLING),
        reasoning=_read_reasoning(top),
        json_schema=_read_schema(top),
    )


def write_settings(request: Request, top: Json) -> None:
    """Write the settings of `request` into `top`, where they differ."""
    sampling = replace(request.sampling, top_k=None, stop=(), seed=None)
    if read_sampling(top, _SAMPLING) != sampling:
        for key in _SAMPLING.values():
            top.pop(key, None)
        top.update(write_sampling(sampling, _SAMPLING))
    if _read_choice(top) != request.tool_choice and request.tool_choice is not None:
        top["tool_choice"] = _write_choice(request.tool_choice)
    if _read_reasoning(top) != request.reasoning:
        top["reasoning"] = {**maybe_object(top, "reasoning"), **_write_reasoning(request.reasoning)}
    if _read_schema(top) != request.json_schema and request.json_schema is not None:
        top["text"] = {**maybe_object(top, "text"), "format": _write_schema(request.json_schema)}
    if request.parallel_tools is not None:
        top["parallel_tool_calls"] = request.parallel_tools
    if request.stream or "stream" in top:
        top["stream"] = request.stream


def _read_choice(top: Json) -> str | None:
    choice = top.get("tool_choice")
    if choice is None or isinstance(choice, str):
        return choice
    return call_names(require_object(choice, "tool_choice"))[0] or None


def _write_choice(choice: str) -> Any:
    return choice if choice in {"auto", "none", "required"} else {"type": "function", "name": choice}


def _read_reasoning(top: Json) -> Reasoning:
    reasoning = maybe_object(top, "reasoning")
    return Reasoning(effort=maybe_string(reasoning, "effort"), show=True if reasoning.get("summary") else None)


def _write_reasoning(reasoning: Reasoning) -> Json:
    settings = {"effort": effort_of(reasoning), "summary": "auto" if reasoning.show else None}
    return {key: value for key, value in settings.items() if value is not None}


def _read_schema(top: Json) -> Json | None:
    format_ = maybe_object(maybe_object(top, "text"), "format")
    kind = maybe_string(format_, "type")
    if kind == "json_schema":
        return maybe_object(format_, "schema")
    return {} if kind == "json_object" else None


def _write_schema(schema: Any) -> Json:
    return {"type": "json_schema", "name": "answer", "schema": schema} if schema else {"type": "json_object"}
