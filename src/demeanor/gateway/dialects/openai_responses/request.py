"""Requests of the Responses dialect.

All settings are kept verbatim in `extra`. Those with a canonical form are read from them, and written again only if the
canonical value differs. Each item is one canonical message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from demeanor.core.values.exchange import Reasoning, Request
from demeanor.core.values.messages import Message, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult
from demeanor.gateway.dialects.conversions import effort_of
from demeanor.gateway.dialects.dialect import Route, WireFormat
from demeanor.gateway.dialects.json_reader import (
    Json,
    extra_fields,
    maybe_flag,
    maybe_object,
    maybe_string,
    own_fields,
    parse_object,
    read_repeated,
    reject,
    require_object,
    string,
    to_json,
)
from demeanor.gateway.dialects.openai_responses.content import NAME, read_content, write_content
from demeanor.gateway.dialects.openai_responses.items import (
    WHOLE,
    is_call,
    is_result,
    opaque,
    read_call,
    read_reasoning,
    read_result,
    write_call,
    write_reasoning,
    write_result,
)
from demeanor.gateway.dialects.openai_responses.tools import call_names, read_tools, write_tools
from demeanor.gateway.dialects.pairing import SYSTEM, join_texts, pair_results
from demeanor.gateway.dialects.sampling import read_sampling, write_sampling

INSTRUCTIONS = f"{NAME}.instructions"
"""The key of `extra` that marks a message from `instructions`."""

_BODY = frozenset({"model", "input", "tools", "instructions"})
_REPEATED = ("input", "tools")
_MESSAGE = frozenset({"role", "content"})
_ROLES: dict[str, Role] = {"system": "system", "developer": "developer", "user": "user", "assistant": "assistant"}


def read_request(body: bytes, route: Route) -> Request:
    """Read a client's request."""
    top = parse_object(body, _REPEATED)
    conversation = top.get("input")
    if conversation is not None and not isinstance(conversation, str | list):
        reject("input", "a string or a list", conversation)
    extra = extra_fields(top, _BODY)
    messages: list[Message] = []
    if top.get("instructions"):
        messages.append(Message(role="system", parts=read_content(top, "instructions"), extra={INSTRUCTIONS: True}))
    if isinstance(conversation, str) and conversation:
        messages.append(Message(role="user", parts=(Text(text=conversation),)))
    elif conversation:
        messages += read_repeated(top, "input", _read_item)
    request = Request(
        model=string(top, "model") if route.model is None else route.model,
        messages=tuple(messages),
        tools=read_tools(top),
        stream=bool(maybe_flag(top, "stream")),
        extra={NAME: extra},
    )
    return read_settings(extra, request)


def write_request(request: Request) -> WireFormat:
    """Write a request for the provider."""
    top: Json = {**own_fields(request.extra, NAME), "model": request.model}
    messages = list(request.messages) if NAME in request.extra else list(pair_results(request.messages))
    if NAME in request.extra:
        prompt = [part for message in messages if INSTRUCTIONS in message.extra for part in message.parts]
        messages = [message for message in messages if INSTRUCTIONS not in message.extra]
        if len(messages) == 1 and messages[0].role == "user" and NAME not in messages[0].extra:
            top["input"] = messages[0].text
        elif messages:
            top["input"] = _write_items(messages, same_dialect=True)
    else:
        prompt = []
        while messages and messages[0].role in SYSTEM:
            prompt += messages.pop(0).parts
        top["input"] = _write_items(messages, same_dialect=False)
        _request_encrypted_reasoning(request, top)
    if prompt:
        texts = [part for part in prompt if isinstance(part, Text)]
        top["instructions"] = write_content(texts if NAME in request.extra else join_texts(texts), kind="input_text")
    if request.tools:
        top["tools"] = write_tools(request.tools)
    write_settings(request, top)
    return WireFormat(body=to_json(top), path="/responses")


def _request_encrypted_reasoning(request: Request, top: Json) -> None:
    """Ask for encrypted reasoning, because nothing is stored at the provider."""
    top["store"] = False
    has_thinking = any(isinstance(part, Thinking) for message in request.messages for part in message.parts)
    if has_thinking or request.reasoning.effort or request.reasoning.budget:
        top["include"] = ["reasoning.encrypted_content"]


def _read_item(data: Json) -> Message:
    kind = maybe_string(data, "type")
    if kind == "message" or (kind is None and "role" in data):
        role = string(data, "role")
        extra = extra_fields(data, _MESSAGE)
        if role not in _ROLES:
            extra["role"] = role
        return Message(role=_ROLES.get(role, "user"), parts=read_content(data, "content"), extra={NAME: extra})
    if kind == "reasoning":
        return Message(role="assistant", parts=(read_reasoning(data),), extra={NAME: {}})
    if is_call(data):
        return Message(role="assistant", parts=(read_call(data),), extra={NAME: {}})
    if is_result(data):
        return Message(role="user", parts=(read_result(data),), extra={NAME: {}})
    by_model = isinstance(kind, str) and kind.endswith("_call")
    return Message(role="assistant" if by_model else "user", parts=(opaque(data),), extra={NAME: {}, WHOLE: True})


def _write_items(messages: Iterable[Message], *, same_dialect: bool) -> list[Json]:
    written: list[Json] = []
    for message in messages:
        for group in _grouped(message):
            written.extend(_write_group(message, group, same_dialect=same_dialect))
    return written


def _grouped(message: Message) -> Iterator[list[Part]]:
    """The parts of a message in groups that make one item each."""
    run: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolCall | ToolResult | Thinking):
            if run:
                yield run
            run = []
            yield [part]
        else:
            run.append(part)
    if run or not message.parts:
        yield run


def _write_group(message: Message, group: list[Part], *, same_dialect: bool) -> Iterator[Json]:
    first = group[0] if group else None
    if isinstance(first, Thinking):
        if same_dialect or first.encrypted or first.signature:
            yield write_reasoning(first)
    elif isinstance(first, ToolCall):
        yield write_call(first)
    elif isinstance(first, ToolResult):
        yield write_result(first)
    elif isinstance(first, Opaque) and WHOLE in message.extra:
        yield own_fields(first.extra, NAME)
    else:
        item = _write_message(message, group)
        if same_dialect or item["content"]:
            yield item


def _write_message(message: Message, group: list[Part]) -> Json:
    kind = "output_text" if message.role == "assistant" else "input_text"
    item: Json = {} if NAME in message.extra else {"type": "message"}
    item.update({"role": message.role, "content": "", **own_fields(message.extra, NAME)})
    if group:
        item["content"] = write_content(group, kind=kind)
    return item


# Settings of the Responses dialect: sampling, reasoning, tool choice, the schema of the answer.

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
