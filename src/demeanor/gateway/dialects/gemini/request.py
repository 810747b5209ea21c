"""Requests of the Gemini dialect.

All settings are kept verbatim in `extra`. Those with a canonical form are read from them, and written again only if the
canonical value differs. The model and the choice of a stream are in the path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from demeanor.core.values.exchange import Reasoning, Request
from demeanor.core.values.messages import Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.conversions import budget_of
from demeanor.gateway.dialects.dialect import Route, WireFormat
from demeanor.gateway.dialects.gemini.key_case import SPELLING, original_case, to_camel_case
from demeanor.gateway.dialects.gemini.parts import NAME, read_part, write_part, write_user
from demeanor.gateway.dialects.gemini.tools import read_tools, write_tools
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
    read_each,
    read_repeated,
    require_list,
    require_object,
    strings,
    to_json,
)
from demeanor.gateway.dialects.pairing import SYSTEM, alternate_turns
from demeanor.gateway.dialects.sampling import read_sampling, write_sampling

FRAMING = f"{NAME}.framing"
"""The key of `extra` under which a request stores that its stream is a JSON array."""

PLACEHOLDER_SIGNATURE = "skip_thought_signature_validator"
"""What Google accepts if a call's own signature is lost."""

_BODY = frozenset({"model", "contents", "tools", "systemInstruction"})
_CONTENT = frozenset({"role", "parts"})
_ROLES: dict[str | None, Role] = {"user": "user", "model": "assistant", "function": "user", None: "user"}
_SIGNING_MODELS = re.compile(r"gemini-(?:2\.5|[3-9]|\d\d|pro-latest|flash-latest|flash-lite-latest)")


def read_request(body: bytes, route: Route) -> Request:
    """Read a client's request."""
    top = parse_object(body)
    if isinstance(top.get("generateContentRequest"), dict):
        top = top["generateContentRequest"]
    original_keys = original_case(top)
    top = to_camel_case(top)
    require_list(top, "contents")
    extra = extra_fields(top, _BODY)
    if "model" in top and route.model is not None:
        extra["model"] = top["model"]
    call_ids = _CallIds()
    contents = [call_ids.with_ids(message) for message in read_repeated(top, "contents", _read_content)]
    request = Request(
        model=route.model or (maybe_string(top, "model") or "").removeprefix("models/"),
        messages=(*_read_system(top), *contents),
        tools=read_tools(top),
        stream=route.stream is True,
        extra={NAME: extra, FRAMING: route.framing, **original_keys}
        if route.framing != "sse"
        else {NAME: extra, **original_keys},
    )
    return read_settings(extra, request)


def write_request(request: Request) -> WireFormat:
    """Write a request for the provider."""
    top: Json = dict(own_fields(request.extra, NAME))
    if NAME in request.extra:
        system: list[Message] = [message for message in request.messages if message.role in SYSTEM]
        turns: Iterable[Message] = [message for message in request.messages if message.role not in SYSTEM]
    else:
        prompt, messages = alternate_turns(request.messages, accepts=_is_accepted)
        system = [Message(role="system", parts=tuple(prompt))] if prompt else []
        turns = [_with_signatures(turn, request.model) for turn in messages]
    if system:
        top["systemInstruction"] = _write_system(system[0])
    top["contents"] = [_write_content(turn) for turn in turns]
    if request.tools:
        top["tools"] = write_tools(request.tools)
    write_settings(request, top)
    verb = "streamGenerateContent?alt=sse" if request.stream else "generateContent"
    original_keys = request.extra.get(SPELLING, {})
    top = {original_keys.get(key, key): value for key, value in top.items()}
    return WireFormat(body=to_json(top), path=f"/v1beta/models/{quote(request.model, safe='')}:{verb}")


class _CallIds:
    """Assigns ids to calls that have none, and to their results."""

    def __init__(self) -> None:
        self._count = 0
        self._open: list[ToolCall] = []

    def with_ids(self, message: Message) -> Message:
        if message.role == "assistant":
            self._open = []
        if not any(isinstance(part, ToolCall | ToolResult) for part in message.parts):
            return message
        return replace(message, parts=tuple(self._part(part) for part in message.parts))

    def _part(self, part: Part) -> Part:
        if isinstance(part, ToolCall):
            self._count += 1
            call = part if part.id else replace(part, id=ids.generated("call_", part.name, self._count))
            self._open.append(call)
            return call
        if isinstance(part, ToolResult):
            for call in self._open:
                if part.call_id in {"", call.id} and part.name == call.name:
                    self._open.remove(call)
                    return replace(part, call_id=call.id)
        return part


def _read_system(top: Json) -> tuple[Message, ...]:
    system = top.get("systemInstruction")
    if not system:
        return ()
    if isinstance(system, str):
        return (Message(role="system", parts=(Text(text=system),)),)
    content = require_object(system, "systemInstruction")
    parts = read_each(content, "parts", read_part)
    return (Message(role="system", parts=parts, extra=as_extra(NAME, extra_fields(content, frozenset({"parts"})))),)


def _write_system(message: Message) -> Json:
    return {**own_fields(message.extra, NAME), "parts": _write_parts(message.parts)}


def _read_content(data: Json) -> Message:
    role = maybe_string(data, "role")
    extra = extra_fields(data, _CONTENT)
    if role not in {"user", "model"} and "role" in data:
        extra["role"] = role
    elif role is None:
        extra["role"] = ""
    return Message(
        role=_ROLES.get(role, "user"), parts=read_each(data, "parts", read_part), extra=as_extra(NAME, extra)
    )


def _write_content(message: Message) -> Json:
    data: Json = {"role": "model" if message.role == "assistant" else "user", **own_fields(message.extra, NAME)}
    if data["role"] == "":
        del data["role"]
    if message.parts:
        data["parts"] = write_user(message.parts) if message.role == "user" else _write_parts(message.parts)
    return data


def _write_parts(parts: Iterable[Part]) -> list[Json]:
    return [item for part in parts for item in write_part(part)]


def _is_accepted(part: Part) -> bool:
    return not isinstance(part, Text) or bool(part.text)


def _with_signatures(turn: Message, model: str) -> Message:
    """A model turn with signatures where Google expects them: on the first call, never in a part of their own."""
    if turn.role != "assistant":
        return turn
    parts: list[Part] = []
    token: str | None = None
    signed = False
    for part in turn.parts:
        if isinstance(part, Thinking):
            if token and (part.signature or part.encrypted):
                parts.append(Text(text="", extra={NAME: {"thoughtSignature": token}}))
            token = part.signature or part.encrypted or token
            if part.text or part.summary:
                parts.append(replace(part, signature=None, encrypted=None))
        elif isinstance(part, ToolCall):
            placeholder = PLACEHOLDER_SIGNATURE if _SIGNING_MODELS.search(model) and not signed else None
            signature = part.signature or token or placeholder
            parts.append(replace(part, signature=signature))
            signed, token = signed or signature is not None, None
        elif isinstance(part, Text) and token:
            parts.append(replace(part, extra={NAME: {"thoughtSignature": token}}))
            token = None
        else:
            parts.append(part)
    if token:
        parts.append(Text(text="", extra={NAME: {"thoughtSignature": token}}))
    return replace(turn, parts=tuple(parts))


# Settings of the Gemini dialect: sampling, reasoning and tool choice.

_CONFIG = "generationConfig"
_SAMPLING = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "max_tokens": "maxOutputTokens",
    "stop": "stopSequences",
    "seed": "seed",
}
_CHOICES = {"AUTO": "auto", "VALIDATED": "auto", "NONE": "none", "ANY": "required"}
_MODES = {"auto": "AUTO", "none": "NONE", "required": "ANY"}


def read_settings(top: Json, request: Request) -> Request:
    """`request` with the settings in `top`."""
    config = maybe_object(top, _CONFIG)
    return replace(
        request,
        tool_choice=_read_choice(top),
        sampling=read_sampling(to_camel_case(config), _SAMPLING),
        reasoning=_read_reasoning(config),
        json_schema=_read_schema(config),
    )


def write_settings(request: Request, top: Json) -> None:
    """Write the settings of `request` into `top`, where they differ."""
    config: Json = dict(maybe_object(top, _CONFIG))
    if read_sampling(to_camel_case(config), _SAMPLING) != request.sampling:
        config = {key: value for key, value in to_camel_case(config).items() if key not in _SAMPLING.values()}
        config.update(write_sampling(request.sampling, _SAMPLING))
    if _read_reasoning(config) != request.reasoning:
        config["thinkingConfig"] = _write_reasoning(request.reasoning)
    if _read_schema(config) != request.json_schema and request.json_schema is not None:
        config["responseMimeType"] = "application/json"
        if request.json_schema:
            config["responseJsonSchema"] = request.json_schema
    if config or _CONFIG in top:
        top[_CONFIG] = config
    if _read_choice(top) != request.tool_choice and request.tool_choice is not None:
        top["toolConfig"] = {"functionCallingConfig": _write_choice(request.tool_choice)}


def _read_reasoning(config: Json) -> Reasoning:
    thinking = to_camel_case(maybe_object(to_camel_case(config), "thinkingConfig"))
    level = maybe_string(thinking, "thinkingLevel")
    return Reasoning(
        effort=level.lower() if level else None,
        budget=maybe_count(thinking, "thinkingBudget"),
        show=maybe_flag(thinking, "includeThoughts"),
    )


def _write_reasoning(reasoning: Reasoning) -> Json:
    budget = budget_of(reasoning)
    settings: Json = {} if budget is None else {"thinkingBudget": budget}
    show = bool(budget) if reasoning.show is None else reasoning.show
    return {**settings, "includeThoughts": show}


def _read_choice(top: Json) -> str | None:
    choice = to_camel_case(maybe_object(to_camel_case(maybe_object(top, "toolConfig")), "functionCallingConfig"))
    allowed = strings(choice.get("allowedFunctionNames"), "allowedFunctionNames")
    mode = maybe_string(choice, "mode")
    return allowed[0] if mode == "ANY" and len(allowed) == 1 else _CHOICES.get(mode or "")


def _write_choice(choice: str) -> Json:
    if choice in _MODES:
        return {"mode": _MODES[choice]}
    return {"mode": "ANY", "allowedFunctionNames": [choice]}


def _read_schema(config: Json) -> Any:
    config = to_camel_case(config)
    for key in ("responseJsonSchema", "responseSchema"):
        if config.get(key):
            return maybe_object(config, key)
    return {} if config.get("responseMimeType") == "application/json" else None
