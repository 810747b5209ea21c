"""Requests of the chat format.

All settings ride along verbatim. What the canon has a word for is read from them, and written anew only where the
canon says something else than they do.
"""

from __future__ import annotations

import re
from typing import Any

from demeanor.core.exchange import Reasoning, Request, Sampling
from demeanor.core.messages import Tool
from demeanor.gateway.dialects.dialect import Route, WireFormat
from demeanor.gateway.dialects.json_reader import (
    Json,
    dump,
    each,
    inner,
    kept,
    leftover,
    mapping,
    maybe_count,
    maybe_flag,
    maybe_number,
    maybe_string,
    own,
    parse_object,
    string,
    strings,
    wrong,
)
from demeanor.gateway.dialects.openai_chat.message import read_message, write_messages
from demeanor.gateway.dialects.openai_chat.thinking import NAME
from demeanor.gateway.dialects.pairing import paired
from demeanor.gateway.dialects.reasoning_effort import effort_of
from demeanor.gateway.dialects.tool_arguments import FREE_TEXT

_BODY = frozenset({"model", "messages", "tools"})
_LIMITS = ("max_completion_tokens", "max_tokens")
_SAMPLING = ("temperature", "top_p", "top_k", "stop", "seed", *_LIMITS)
_TOOL = frozenset({"type", "function"})
_FUNCTION = frozenset({"name", "description", "parameters"})
_THINKERS = re.compile(r"(?:.*/)?(?:o\d|gpt-5)")


def read_request(body: bytes, route: Route) -> Request:
    """What a client asks."""
    top = parse_object(body)
    model = string(top, "model") if route.model is None else route.model
    if not isinstance(top.get("messages"), list):
        wrong("messages", "a list", top.get("messages"))
    extra = leftover(top, _BODY)
    return Request(
        model=model,
        messages=each(top, "messages", read_message),
        tools=each(top, "tools", _read_tool),
        tool_choice=_read_choice(extra),
        parallel_tools=maybe_flag(top, "parallel_tool_calls"),
        sampling=_read_sampling(extra),
        reasoning=_read_reasoning(extra),
        json_schema=_read_schema(extra),
        stream=bool(maybe_flag(top, "stream")),
        extra={NAME: extra},
    )


def write_request(request: Request) -> WireFormat:
    """The same, as the provider wants to read it."""
    ours = NAME in request.extra
    top: Json = {**own(request.extra, NAME), "model": request.model}
    top["messages"] = write_messages(request.messages if ours else paired(request.messages))
    if request.tools:
        top["tools"] = [tool for tool in map(_write_tool, request.tools) if tool]
    _write_settings(request, top)
    if request.stream and not ours:
        top["stream_options"] = {"include_usage": True}
    return WireFormat(body=dump(top), path="/chat/completions")


def wants_usage(request: Request) -> bool:
    """Whether a streamed answer is to end with its usage."""
    options = own(request.extra, NAME).get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True


def _write_settings(request: Request, top: Json) -> None:
    if _read_sampling(top) != request.sampling:
        for key in _SAMPLING:
            top.pop(key, None)
        top.update(_write_sampling(request.sampling, request.model))
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
        custom = inner(data, "custom")
        about = maybe_string(custom, "description") or ""
        return Tool(name=string(custom, "name"), description=about, schema=FREE_TEXT, extra={NAME: data})
    if kind not in {"function", None}:
        return Tool(name=str(kind), builtin=True, extra={NAME: data})
    function = inner(data, "function")
    extra = leftover(data, _TOOL)
    odd = leftover(function, _FUNCTION)
    if odd:
        extra["function"] = odd
    cache = data.get("cache_control")
    return Tool(
        name=string(function, "name"),
        description=maybe_string(function, "description") or "",
        schema=inner(function, "parameters"),
        cache=cache if isinstance(cache, dict) else None,
        extra=kept(NAME, extra),
    )


def _write_tool(tool: Tool) -> Json | None:
    extra = own(tool.extra, NAME)
    if tool.builtin or extra.get("type") == "custom":
        return extra or None
    function: Json = {"name": tool.name, **(extra.get("function") or {})}
    if tool.description:
        function["description"] = tool.description
    if tool.schema:
        function["parameters"] = tool.schema
    return {"type": "function", **extra, "function": function}


def _read_sampling(top: Json) -> Sampling:
    limits = [maybe_count(top, key) for key in _LIMITS]
    return Sampling(
        temperature=maybe_number(top, "temperature"),
        top_p=maybe_number(top, "top_p"),
        top_k=maybe_count(top, "top_k"),
        max_tokens=limits[1] if limits[0] is None else limits[0],
        stop=strings(top.get("stop"), "stop"),
        seed=maybe_count(top, "seed"),
    )


def _write_sampling(sampling: Sampling, model: str) -> Json:
    given = {
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        _LIMITS[0] if _THINKERS.match(model) else _LIMITS[1]: sampling.max_tokens,
        "stop": list(sampling.stop) or None,
        "seed": sampling.seed,
    }
    return {key: value for key, value in given.items() if value is not None}


def _read_choice(top: Json) -> str | None:
    choice = top.get("tool_choice")
    if choice is None or isinstance(choice, str):
        return choice
    for key in ("function", "custom"):
        chosen = mapping(choice, "tool_choice").get(key)
        if isinstance(chosen, dict) and isinstance(chosen.get("name"), str):
            return str(chosen["name"])
    return None


def _write_choice(choice: str | None) -> Any:
    if choice in {"auto", "none", "required", None}:
        return choice
    return {"type": "function", "function": {"name": choice}}


def _read_reasoning(top: Json) -> Reasoning:
    wide = top.get("reasoning")
    if isinstance(wide, dict):
        return Reasoning(effort=maybe_string(wide, "effort"), budget=maybe_count(wide, "max_tokens"))
    return Reasoning(effort=maybe_string(top, "reasoning_effort"))


def _read_schema(top: Json) -> Json | None:
    wanted = top.get("response_format")
    kind = maybe_string(wanted, "type") if isinstance(wanted, dict) else None
    if kind == "json_object":
        return {}
    if kind != "json_schema":
        return None
    return inner(inner(mapping(wanted, "response_format"), "json_schema"), "schema")


def _write_schema(schema: Any) -> Json:
    if not schema:
        return {"type": "json_object"}
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
