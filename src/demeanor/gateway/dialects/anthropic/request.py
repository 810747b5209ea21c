"""Requests of the Anthropic format.

All settings ride along verbatim. What the canon has a word for is read from them, and written anew only where the
canon says something else than they do.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from demeanor.core.exchange import Reasoning, Request, Sampling
from demeanor.core.messages import Message, Part, Role, Text, Thinking, Tool, ToolCall
from demeanor.gateway.dialects.anthropic.blocks import NAME, read_content, write_content
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
from demeanor.gateway.dialects.pairing import SYSTEM, one_text, taking_turns
from demeanor.gateway.dialects.reasoning_effort import budget_of

LONGEST = 8192
"""This API must be told a limit; this one is used where nobody gave one."""

_ROLES: dict[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}
_BODY = frozenset({"model", "messages", "tools", "system"})
_MESSAGE = frozenset({"role", "content"})
_TOOL = frozenset({"name", "description", "input_schema"})
_SAMPLING = ("temperature", "top_p", "top_k", "stop_sequences", "max_tokens")
_CHOICES = {"auto": "auto", "none": "none", "any": "required"}
_CHOICE_WORDS = {"auto": "auto", "none": "none", "required": "any"}


def read_request(body: bytes, route: Route) -> Request:
    """What a client asks."""
    top = parse_object(body)
    if not isinstance(top.get("messages"), list):
        wrong("messages", "a list", top.get("messages"))
    extra = leftover(top, _BODY)
    return Request(
        model=string(top, "model") if route.model is None else route.model,
        messages=(*_read_system(top), *each(top, "messages", _read_message)),
        tools=each(top, "tools", _read_tool),
        tool_choice=_read_choice(extra),
        parallel_tools=_read_parallel(extra),
        sampling=_read_sampling(extra),
        reasoning=_read_reasoning(extra),
        json_schema=_read_schema(extra),
        stream=bool(maybe_flag(top, "stream")),
        extra={NAME: extra},
    )


def write_request(request: Request) -> WireFormat:
    """The same, as the provider wants to read it."""
    top: Json = {**own(request.extra, NAME), "model": request.model}
    if NAME in request.extra:
        tops = [message for message in request.messages if _is_top(message)]
        system = [part for message in tops for part in message.parts if isinstance(part, Text)]
        messages: Iterable[Message] = [message for message in request.messages if not _is_top(message)]
    else:
        system, messages = taking_turns(request.messages, says=_says)
        if not any(part.cache for part in system):
            system = one_text(system)
    if system:
        top["system"] = write_content(system, to_model=True)
    top["messages"] = [_write_message(message) for message in messages]
    if request.tools:
        top["tools"] = [tool for tool in map(_write_tool, request.tools) if tool]
    _write_settings(request, top, thinkable=_thinkable(messages))
    return WireFormat(body=dump(top), path="/v1/messages")


def _is_top(message: Message) -> bool:
    return message.role in SYSTEM and NAME not in message.extra


def _says(part: Part) -> bool:
    """Whether this API would take the part: it refuses blank text, and thinking that it can't verify."""
    if isinstance(part, Text):
        return bool(part.text.strip())
    return not isinstance(part, Thinking) or bool(part.signature or part.encrypted)


def _thinkable(messages: Iterable[Message]) -> bool:
    """Whether the model may be told to think: not in the middle of a tool loop that began without thinking."""
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
    extra = leftover(data, _MESSAGE)
    if role not in {"user", "assistant"}:
        extra["role"] = role
    return Message(role=_ROLES.get(role, "user"), parts=read_content(data), extra=kept(NAME, extra))


def _write_message(message: Message) -> Json:
    told: Json = {"role": message.role, "content": "", **own(message.extra, NAME)}
    if message.parts:
        told["content"] = write_content(message.parts, to_model=True)
    return told


def _write_settings(request: Request, top: Json, *, thinkable: bool) -> None:
    ours = NAME in request.extra
    if _read_reasoning(top) != request.reasoning and not ours and thinkable:
        _write_reasoning(request.reasoning, top)
    if _read_sampling(top) != request.sampling or not (ours or "max_tokens" in top):
        _write_sampling(request.sampling, top)
    if (_read_choice(top), _read_parallel(top)) != (request.tool_choice, request.parallel_tools) and top.get("tools"):
        top["tool_choice"] = _write_choice(request.tool_choice, parallel=request.parallel_tools)
    if _read_schema(top) != request.json_schema and request.json_schema:
        wanted = {"type": "json_schema", "schema": request.json_schema}
        top["output_config"] = {**inner(top, "output_config"), "format": wanted}
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
        schema=inner(data, "input_schema"),
        cache=cache if isinstance(cache, dict) else None,
        extra=kept(NAME, leftover(data, _TOOL)),
    )


def _write_tool(tool: Tool) -> Json | None:
    extra = own(tool.extra, NAME)
    if tool.builtin:
        return extra or None
    told: Json = {"name": tool.name, "input_schema": {"type": "object", "properties": {}}, **extra}
    if tool.description:
        told["description"] = tool.description
    if tool.schema:
        told["input_schema"] = tool.schema
    if tool.cache is not None:
        told["cache_control"] = tool.cache
    return told


def _read_sampling(top: Json) -> Sampling:
    return Sampling(
        temperature=maybe_number(top, "temperature"),
        top_p=maybe_number(top, "top_p"),
        top_k=maybe_count(top, "top_k"),
        max_tokens=maybe_count(top, "max_tokens"),
        stop=strings(top.get("stop_sequences"), "stop_sequences"),
    )


def _write_sampling(sampling: Sampling, top: Json) -> None:
    for key in _SAMPLING:
        top.pop(key, None)
    thinking = maybe_count(inner(top, "thinking"), "budget_tokens") or 0
    limit = sampling.max_tokens or LONGEST
    top["max_tokens"] = limit if limit > thinking else limit + thinking
    if sampling.stop:
        top["stop_sequences"] = list(sampling.stop)
    if thinking:
        return  # a model that thinks takes no other settings
    given = {"temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": sampling.top_k}
    top.update({key: value for key, value in given.items() if value is not None})


def _read_choice(top: Json) -> str | None:
    choice = top.get("tool_choice")
    if choice is None:
        return None
    kind = maybe_string(mapping(choice, "tool_choice"), "type")
    return maybe_string(choice, "name") if kind == "tool" else _CHOICES.get(kind or "")


def _read_parallel(top: Json) -> bool | None:
    alone = maybe_flag(inner(top, "tool_choice"), "disable_parallel_tool_use")
    return None if alone is None else not alone


def _write_choice(choice: str | None, *, parallel: bool | None) -> Json:
    kind = _CHOICE_WORDS.get(choice or "auto")
    told: Json = {"type": kind} if kind else {"type": "tool", "name": choice}
    if parallel is not None and kind != "none":
        told["disable_parallel_tool_use"] = not parallel
    return told


def _read_reasoning(top: Json) -> Reasoning:
    thinking, output = inner(top, "thinking"), inner(top, "output_config")
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
    wanted = inner(top, "output_config").get("format") or top.get("output_format")
    return inner(wanted, "schema") if isinstance(wanted, dict) else None
