"""Requests of the Anthropic dialect.

All settings are kept verbatim in `extra`. Those with a canonical form are read from them, and written again only if the
canonical value differs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from demeanor.core.values.exchange import Reasoning, Request, Sampling
from demeanor.core.values.messages import Message, Part, Role, Text, Thinking, Tool, ToolCall
from demeanor.gateway.dialects.anthropic.blocks import NAME, read_content, write_content
from demeanor.gateway.dialects.conversions import budget_of
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
from demeanor.gateway.dialects.pairing import SYSTEM, alternate_turns, join_texts
from demeanor.gateway.dialects.sampling import read_sampling, write_sampling

DEFAULT_MAX_TOKENS = 8192
"""The API requires a limit; this one is used if the request has none."""

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_BODY = frozenset({"model", "messages", "tools", "system"})
_REPEATED = ("messages", "tools")
_MESSAGE = frozenset({"role", "content"})
_TOOL = frozenset({"name", "description", "input_schema"})
_SAMPLING = {
    "temperature": "temperature",
    "top_p": "top_p",
    "top_k": "top_k",
    "stop": "stop_sequences",
    "max_tokens": "max_tokens",
}
_CHOICES = {"auto": "auto", "none": "none", "any": "required"}
_CHOICE_TYPES = {"auto": "auto", "none": "none", "required": "any"}


def read_request(body: bytes, route: Route) -> Request:
    """Read a client's request."""
    top = parse_object(body, _REPEATED)
    require_list(top, "messages")
    extra = extra_fields(top, _BODY)
    return Request(
        model=string(top, "model") if route.model is None else route.model,
        messages=(*_read_system(top), *read_repeated(top, "messages", _read_message)),
        tools=read_unchanged(top, "tools", _read_tool),
        tool_choice=_read_choice(extra),
        parallel_tools=_read_parallel(extra),
        sampling=read_sampling(extra, _SAMPLING),
        reasoning=_read_reasoning(extra),
        json_schema=_read_schema(extra),
        stream=bool(maybe_flag(top, "stream")),
        extra={NAME: extra},
    )


def write_request(request: Request) -> WireFormat:
    """Write a request for the provider."""
    top: Json = {**own_fields(request.extra, NAME), "model": request.model}
    if NAME in request.extra:
        system_messages = [message for message in request.messages if _is_system_field(message)]
        system = [part for message in system_messages for part in message.parts if isinstance(part, Text)]
        messages: Iterable[Message] = [message for message in request.messages if not _is_system_field(message)]
    else:
        system, messages = alternate_turns(request.messages, accepts=_is_accepted)
        if not any(part.cache for part in system):
            system = join_texts(system)
    if system:
        top["system"] = write_content(system)
    top["messages"] = [_write_message(message) for message in messages]
    if request.tools:
        top["tools"] = [tool for tool in map(_write_tool, request.tools) if tool]
    _write_settings(request, top, may_think=_may_think(messages))
    return WireFormat(body=to_json(top), path="/v1/messages")


def _is_system_field(message: Message) -> bool:
    return message.role in SYSTEM and NAME not in message.extra


def _is_accepted(part: Part) -> bool:
    """Whether the API accepts the part: it refuses blank text, and thinking that it can't verify."""
    if isinstance(part, Text):
        return bool(part.text.strip())
    return not isinstance(part, Thinking) or bool(part.signature or part.encrypted)


def _may_think(messages: Iterable[Message]) -> bool:
    """Whether thinking may be enabled: not in the middle of a tool loop that started without thinking."""
    last = next((message for message in reversed(list(messages)) if message.role == "assistant"), None)
    called = last is not None and any(isinstance(part, ToolCall) for part in last.parts)
    return last is None or not called or isinstance(last.parts[0], Thinking)


def _read_system(top: Json) -> tuple[Message, ...]:
    system = top.get("system")
    if not system:
        return ()
    return (Message(role="system", parts=read_content({"content": system})),)


def _read_message(data: Json) -> Message:
    role = string(data, "role")
    extra = extra_fields(data, _MESSAGE)
    if role not in {"user", "assistant"}:
        extra["role"] = role
    return Message(role=_ROLES.get(role, "user"), parts=read_content(data), extra=as_extra(NAME, extra))


def _write_message(message: Message) -> Json:
    data: Json = {"role": message.role, "content": "", **own_fields(message.extra, NAME)}
    if message.parts:
        data["content"] = write_content(message.parts)
    return data


def _write_settings(request: Request, top: Json, *, may_think: bool) -> None:
    same_dialect = NAME in request.extra
    if _read_reasoning(top) != request.reasoning and not same_dialect and may_think:
        _write_reasoning(request.reasoning, top)
    if read_sampling(top, _SAMPLING) != request.sampling or not (same_dialect or "max_tokens" in top):
        _write_sampling(request.sampling, top)
    if (_read_choice(top), _read_parallel(top)) != (request.tool_choice, request.parallel_tools) and top.get("tools"):
        top["tool_choice"] = _write_choice(request.tool_choice, parallel=request.parallel_tools)
    if _read_schema(top) != request.json_schema and request.json_schema:
        format_ = {"type": "json_schema", "schema": request.json_schema}
        top["output_config"] = {**maybe_object(top, "output_config"), "format": format_}
    if request.stream or "stream" in top:
        top["stream"] = request.stream


def _read_tool(data: Json) -> Tool:
    kind = maybe_string(data, "type")
    if kind not in {"custom", None}:
        return Tool(name=maybe_string(data, "name") or str(kind), builtin=True, extra={NAME: data})
    cache = data.get("cache_control")
    return Tool(
        name=string(data, "name"),
        description=maybe_string(data, "description") or "",
        schema=maybe_object(data, "input_schema"),
        cache=cache if isinstance(cache, dict) else None,
        extra=as_extra(NAME, extra_fields(data, _TOOL)),
    )


def _write_tool(tool: Tool) -> Json | None:
    extra = own_fields(tool.extra, NAME)
    if tool.builtin:
        return extra or None
    data: Json = {"name": tool.name, "input_schema": {"type": "object", "properties": {}}, **extra}
    if tool.description:
        data["description"] = tool.description
    if tool.schema:
        data["input_schema"] = tool.schema
    if tool.cache is not None:
        data["cache_control"] = tool.cache
    return data


def _write_sampling(sampling: Sampling, top: Json) -> None:
    for key in _SAMPLING.values():
        top.pop(key, None)
    thinking = maybe_count(maybe_object(top, "thinking"), "budget_tokens") or 0
    limit = sampling.max_tokens or DEFAULT_MAX_TOKENS
    if thinking:  # then the API accepts no other sampling settings
        sampling = Sampling(stop=sampling.stop)
    top.update(write_sampling(sampling, _SAMPLING))
    top["max_tokens"] = limit if limit > thinking else limit + thinking


def _read_choice(top: Json) -> str | None:
    choice = top.get("tool_choice")
    if choice is None:
        return None
    kind = maybe_string(require_object(choice, "tool_choice"), "type")
    return maybe_string(choice, "name") if kind == "tool" else _CHOICES.get(kind or "")


def _read_parallel(top: Json) -> bool | None:
    disabled = maybe_flag(maybe_object(top, "tool_choice"), "disable_parallel_tool_use")
    return None if disabled is None else not disabled


def _write_choice(choice: str | None, *, parallel: bool | None) -> Json:
    kind = _CHOICE_TYPES.get(choice or "auto")
    data: Json = {"type": kind} if kind else {"type": "tool", "name": choice}
    if parallel is not None and kind != "none":
        data["disable_parallel_tool_use"] = not parallel
    return data


def _read_reasoning(top: Json) -> Reasoning:
    thinking, output = maybe_object(top, "thinking"), maybe_object(top, "output_config")
    effort = maybe_string(output, "effort")
    if thinking.get("type") == "disabled":
        effort = "none"
    display = thinking.get("display")
    show = None if display is None else display != "omitted"
    return Reasoning(effort=effort, budget=maybe_count(thinking, "budget_tokens"), show=show)


def _write_reasoning(reasoning: Reasoning, top: Json) -> None:
    budget = budget_of(reasoning)
    if budget is not None:
        top["thinking"] = {"type": "enabled", "budget_tokens": max(budget, 1024)} if budget else {"type": "disabled"}


def _read_schema(top: Json) -> Any:
    format_ = maybe_object(top, "output_config").get("format") or top.get("output_format")
    return maybe_object(format_, "schema") if isinstance(format_, dict) else None
