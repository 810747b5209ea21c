"""Requests of the Responses format.

All settings ride along verbatim. What the canon has a word for is read from them, and written anew only where the
canon says something else than they do. Each item is one message of ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from demeanor.core.exchange import Request
from demeanor.core.messages import Message, Opaque, Part, Role, Text, Thinking, ToolCall, ToolResult
from demeanor.gateway.dialects.dialect import Route, WireFormat
from demeanor.gateway.dialects.json_reader import (
    Json,
    dump,
    each,
    leftover,
    maybe_flag,
    maybe_string,
    own,
    parse_object,
    string,
    wrong,
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
from demeanor.gateway.dialects.openai_responses.settings import read_settings, write_settings
from demeanor.gateway.dialects.openai_responses.tools import read_tool, write_tool
from demeanor.gateway.dialects.pairing import SYSTEM, one_text, paired

TOP = f"{NAME}.instructions"
"""Under this name a message's extra tells that it stood in `instructions`."""

_BODY = frozenset({"model", "input", "tools", "instructions"})
_MESSAGE = frozenset({"role", "content"})
_ROLES: dict[str, Role] = {"system": "system", "developer": "developer", "user": "user", "assistant": "assistant"}


def read_request(body: bytes, route: Route) -> Request:
    """What a client asks."""
    top = parse_object(body)
    given = top.get("input")
    if given is not None and not isinstance(given, str | list):
        wrong("input", "a string or a list", given)
    extra = leftover(top, _BODY)
    messages: list[Message] = []
    if top.get("instructions"):
        messages.append(Message(role="system", parts=read_content(top, "instructions"), extra={TOP: True}))
    if isinstance(given, str) and given:
        messages.append(Message(role="user", parts=(Text(text=given),)))
    elif given:
        messages += each(top, "input", _read_item)
    request = Request(
        model=string(top, "model") if route.model is None else route.model,
        messages=tuple(messages),
        tools=each(top, "tools", read_tool),
        stream=bool(maybe_flag(top, "stream")),
        extra={NAME: extra},
    )
    return read_settings(extra, request)


def write_request(request: Request) -> WireFormat:
    """The same, as the provider wants to read it."""
    top: Json = {**own(request.extra, NAME), "model": request.model}
    messages = list(request.messages) if NAME in request.extra else list(paired(request.messages))
    if NAME in request.extra:
        prompt = [part for message in messages if TOP in message.extra for part in message.parts]
        messages = [message for message in messages if TOP not in message.extra]
        if len(messages) == 1 and messages[0].role == "user" and NAME not in messages[0].extra:
            top["input"] = messages[0].text
        elif messages:
            top["input"] = _write_items(messages, ours=True)
    else:
        prompt = []
        while messages and messages[0].role in SYSTEM:
            prompt += messages.pop(0).parts
        top["input"] = _write_items(messages, ours=False)
        _ask_for_encrypted(request, top)
    if prompt:
        texts = [part for part in prompt if isinstance(part, Text)]
        top["instructions"] = write_content(texts if NAME in request.extra else one_text(texts), kind="input_text")
    if request.tools:
        top["tools"] = [tool for tool in map(write_tool, request.tools) if tool]
    write_settings(request, top)
    return WireFormat(body=dump(top), path="/responses")


def _ask_for_encrypted(request: Request, top: Json) -> None:
    """Nothing is to be kept at the provider, so the reasoning must come to us whole."""
    top["store"] = False
    thought = any(isinstance(part, Thinking) for message in request.messages for part in message.parts)
    if thought or request.reasoning.effort or request.reasoning.budget:
        top["include"] = ["reasoning.encrypted_content"]


def _read_item(data: Json) -> Message:
    kind = maybe_string(data, "type")
    if kind == "message" or (kind is None and "role" in data):
        role = string(data, "role")
        extra = leftover(data, _MESSAGE)
        if role not in _ROLES:
            extra["role"] = role
        return Message(role=_ROLES.get(role, "user"), parts=read_content(data, "content"), extra={NAME: extra})
    if kind == "reasoning":
        return Message(role="assistant", parts=(read_reasoning(data),), extra={NAME: {}})
    if is_call(data):
        return Message(role="assistant", parts=(read_call(data),), extra={NAME: {}})
    if is_result(data):
        return Message(role="user", parts=(read_result(data),), extra={NAME: {}})
    said = isinstance(kind, str) and kind.endswith("_call")
    return Message(role="assistant" if said else "user", parts=(opaque(data),), extra={NAME: {}, WHOLE: True})


def _write_items(messages: Iterable[Message], *, ours: bool) -> list[Json]:
    told: list[Json] = []
    for message in messages:
        for group in _grouped(message):
            told.extend(_write_group(message, group, ours=ours))
    return told


def _grouped(message: Message) -> Iterator[list[Part]]:
    """What a message says, in runs that make one item each."""
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


def _write_group(message: Message, group: list[Part], *, ours: bool) -> Iterator[Json]:
    first = group[0] if group else None
    if isinstance(first, Thinking):
        if ours or first.encrypted or first.signature:
            yield write_reasoning(first)
    elif isinstance(first, ToolCall):
        yield write_call(first)
    elif isinstance(first, ToolResult):
        yield write_result(first)
    elif isinstance(first, Opaque) and WHOLE in message.extra:
        yield own(first.extra, NAME)
    else:
        told = _write_message(message, group)
        if ours or told["content"]:
            yield told


def _write_message(message: Message, group: list[Part]) -> Json:
    kind = "output_text" if message.role == "assistant" else "input_text"
    told: Json = {} if NAME in message.extra else {"type": "message"}
    told.update({"role": message.role, "content": "", **own(message.extra, NAME)})
    if group:
        told["content"] = write_content(group, kind=kind)
    return told
