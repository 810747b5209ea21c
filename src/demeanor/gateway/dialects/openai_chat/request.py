"""Requests of the chat dialect.

All settings are kept verbatim in `extra`. Those with a canonical form are read from them, and written again only if the
canonical value differs.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from demeanor.core.values.exchange import Reasoning, Request, Sampling
from demeanor.core.values.messages import Tool
from demeanor.gateway.dialects.conversions import FREE_TEXT, effort_of
from demeanor.gateway.dialects.dialect import Route, WireFormat
from demeanor.gateway.dialects.json_reader import (
    Json,
    as_extra,
    extra_fields,
    maybe_count,
    maybe_flag,
    maybe_object,
    maybe_string,
    own_fields,
    parse_object,
    read_repeated,
    read_unchanged,
    require_list,
    require_object,
    string,
    to_json,
)
from demeanor.gateway.dialects.openai_chat.message import read_message, write_messages
from demeanor.gateway.dialects.openai_chat.thinking import NAME
from demeanor.gateway.dialects.pairing import pair_results
from demeanor.gateway.dialects.sampling import read_sampling, write_sampling

_BODY = frozenset({"model", "messages", "tools"})
_REPEATED = ("messages", "tools")
_LIMITS = ("max_completion_tokens", "max_tokens")
_SAMPLING = {name: name for name in ("temperature", "top_p", "top_k", "stop", "seed")}
_TOOL = frozenset({"type", "function"})
_FUNCTION = frozenset({"name", "description", "parameters"})
_REASONING_MODELS = re.compile(r"(?:.*/)?(?:o\d|gpt-5)")


def read_request(body: bytes, route: Route) -> Request:
    """Read a client's request."""
    top = parse_object(body, _REPEATED)
    model = string(top, "model") if route.model is None else route.model
    require_list(top, "messages")
    extra = extra_fields(top, _BODY)
    return Request(
        model=model,
        messages=read_repeated(top, "messages", read_message),
        tools=read_unchanged(top, "tools", _read_tool),
        tool_choice=_read_choice(extra),
        parallel_tools=maybe_flag(top, "parallel_tool_calls"),
        sampling=_read_sampling(extra),
        reasoning=_read_reasoning(extra),
        json_schema=_read_schema(extra),
        stream=bool(maybe_flag(top, "stream")),
        extra={NAME: extra},
    )


def write_request(request: Request) -> WireFormat:
    """Write a request for the provider."""
    same_dialect = NAME in request.extra
    top: Json = {**own_fields(request.extra, NAME), "model": request.model}
    top["messages"] = write_messages(request.messages if same_dialect else pair_results(request.messages))
    if request.tools:
        top["tools"] = [tool for tool in map(_write_tool, request.tools) if tool]
    _write_settings(request, top)
    if request.stream and not same_dialect:
        top["stream_options"] = {"include_usage": True}
    return WireFormat(body=to_json(top), path="/chat/completions")


def wants_usage(request: Request) -> bool:
    """Whether a streamed response must end with its usage."""
    options = own_fields(request.extra, NAME).get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def _write_settings(request: Request, top: Json) -> None:
    if _read_sampling(top) != request.sampling:
        for key in (*_SAMPLING, *_LIMITS):
            top.pop(key, None)
        limit = _LIMITS[0] if _REASONING_MODELS.match(request.model) else _LIMITS[1]
        top.update(write_sampling(replace(request.sampling, top_k=None), {**_SAMPLING, "max_tokens": limit}))
    if _read_choice(top) != request.tool_choice:
        top["tool_choice"] = _write_choice(request.tool_choice)
    effort = effort_of(request.reasoning)
    if _read_reasoning(top) != request.reasoning and effort:
        top["reasoning_effort"] = effort
    if _read_schema(top) != request.json_schema and request.json_schema is not None:
        top["response_format"] = _write_schema(request.json_schema)
    if request.parallel_tools is not None:
        top["parallel_tool_calls"] = request.parallel_tools
    if request.stream or "stream" in top:
        top["stream"] = request.stream


def _read_tool(data: Json) -> Tool:
    kind = maybe_string(data, "type")
    if kind == "custom":
        custom = maybe_object(data, "custom")
        about = maybe_string(custom, "description") or ""
        return Tool(name=string(custom, "name"), description=about, schema=FREE_TEXT, extra={NAME: data})
    if kind not in {"function", None}:
        return Tool(name=str(kind), builtin=True, extra={NAME: data})
    function = maybe_object(data, "function")
    extra = extra_fields(data, _TOOL)
    unknown = extra_fields(function, _FUNCTION)
    if unknown:
        extra["function"] = unknown
    cache = data.get("cache_control")
    return Tool(
        name=string(function, "name"),
        description=maybe_string(function, "description") or "",
        schema=maybe_object(function, "parameters"),
        cache=cache if isinstance(cache, dict) else None,
        extra=as_extra(NAME, extra),
    )


def _write_tool(tool: Tool) -> Json | None:
    extra = own_fields(tool.extra, NAME)
    if tool.builtin or extra.get("type") == "custom":
        return extra or None
    function: Json = {"name": tool.name, **(extra.get("function") or {})}
    if tool.description:
        function["description"] = tool.description
    if tool.schema:
        function["parameters"] = tool.schema
    return {"type": "function", **extra, "function": function}


def _read_sampling(top: Json) -> Sampling:
    limit = next((key for key in _LIMITS if top.get(key) is not None), _LIMITS[1])
    return read_sampling(top, {**_SAMPLING, "max_tokens": limit})


def _read_choice(top: Json) -> str | None:
    choice = top.get("tool_choice")
    if choice is None or isinstance(choice, str):
        return choice
    for key in ("function", "custom"):
        chosen = require_object(choice, "tool_choice").get(key)
        if isinstance(chosen, dict) and isinstance(chosen.get("name"), str):
            return str(chosen["name"])
    return None


def _write_choice(choice: str | None) -> Any:
    if choice in {"auto", "none", "required", None}:
        return choice
    return {"type": "function", "function": {"name": choice}}


def _read_reasoning(top: Json) -> Reasoning:
    extended = top.get("reasoning")
    if isinstance(extended, dict):
        return Reasoning(effort=maybe_string(extended, "effort"), budget=maybe_count(extended, "max_tokens"))
    return Reasoning(effort=maybe_string(top, "reasoning_effort"))


def _read_schema(top: Json) -> Json | None:
    format_ = top.get("response_format")
    kind = maybe_string(format_, "type") if isinstance(format_, dict) else None
    if kind == "json_object":
        return {}
    if kind != "json_schema":
        return None
    return maybe_object(maybe_object(require_object(format_, "response_format"), "json_schema"), "schema")


def _write_schema(schema: Any) -> Json:
    if not schema:
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
