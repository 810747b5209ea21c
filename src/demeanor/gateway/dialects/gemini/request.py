"""Requests of the Gemini format.

All settings ride along verbatim. What the canon has a word for is read from them, and written anew only where the
canon says something else than they do. The model and the wish for a stream stand in the path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from urllib.parse import quote

from demeanor.core.exchange import Request
from demeanor.core.messages import Message, Part, Role, Text, Thinking, ToolCall, ToolResult
from demeanor.gateway.dialects import ids
from demeanor.gateway.dialects.dialect import Route, WireFormat
from demeanor.gateway.dialects.gemini.key_case import SPELLING, camel, spelling
from demeanor.gateway.dialects.gemini.parts import NAME, read_part, write_part, write_user
from demeanor.gateway.dialects.gemini.settings import read_settings, write_settings
from demeanor.gateway.dialects.gemini.tools import read_tools, write_tools
from demeanor.gateway.dialects.json_reader import (
    Json,
    dump,
    each,
    kept,
    leftover,
    mapping,
    maybe_string,
    own,
    parse_object,
    wrong,
)
from demeanor.gateway.dialects.pairing import SYSTEM, taking_turns

FRAMING = f"{NAME}.framing"
"""Under this name a request's extra tells that its stream is to be a JSON array."""

NO_SIGNATURE = "skip_thought_signature_validator"
"""What Google takes where a call's own signature is lost."""

_BODY = frozenset({"model", "contents", "tools", "systemInstruction"})
_CONTENT = frozenset({"role", "parts"})
_ROLES: dict[str | None, Role] = {"user": "user", "model": "assistant", "function": "user", None: "user"}
_SIGNERS = re.compile(r"gemini-(?:2\.5|[3-9]|\d\d|pro-latest|flash-latest|flash-lite-latest)")


def read_request(body: bytes, route: Route) -> Request:
    """What a client asks."""
    top = parse_object(body)
    if isinstance(top.get("generateContentRequest"), dict):
        top = top["generateContentRequest"]
    odd = spelling(top)
    top = camel(top)
    if not isinstance(top.get("contents"), list):
        wrong("contents", "a list", top.get("contents"))
    extra = leftover(top, _BODY)
    if "model" in top and route.model is not None:
        extra["model"] = top["model"]
    ledger = _Ledger()
    contents = [ledger.named(message) for message in each(top, "contents", _read_content)]
    request = Request(
        model=route.model or (maybe_string(top, "model") or "").removeprefix("models/"),
        messages=(*_read_system(top), *contents),
        tools=read_tools(top),
        stream=route.stream is True,
        extra={NAME: extra, FRAMING: route.framing, **odd} if route.framing != "sse" else {NAME: extra, **odd},
    )
    return read_settings(extra, request)


def write_request(request: Request) -> WireFormat:
    """The same, as the provider wants to read it."""
    top: Json = dict(own(request.extra, NAME))
    if NAME in request.extra:
        system: list[Message] = [message for message in request.messages if message.role in SYSTEM]
        turns: Iterable[Message] = [message for message in request.messages if message.role not in SYSTEM]
    else:
        prompt, told = taking_turns(request.messages, says=_says)
        system = [Message(role="system", parts=tuple(prompt))] if prompt else []
        turns = [_signed(turn, request.model) for turn in told]
    if system:
        top["systemInstruction"] = _write_system(system[0])
    top["contents"] = [_write_content(turn) for turn in turns]
    if request.tools:
        top["tools"] = write_tools(request.tools)
    write_settings(request, top)
    verb = "streamGenerateContent?alt=sse" if request.stream else "generateContent"
    odd = request.extra.get(SPELLING, {})
    top = {odd.get(key, key): value for key, value in top.items()}
    return WireFormat(body=dump(top), path=f"/v1beta/models/{quote(request.model, safe='')}:{verb}")


class _Ledger:
    """Gives ids to the calls that have none, and to their results."""

    def __init__(self) -> None:
        self._made = 0
        self._open: list[ToolCall] = []

    def named(self, message: Message) -> Message:
        if message.role == "assistant":
            self._open = []
        if not any(isinstance(part, ToolCall | ToolResult) for part in message.parts):
            return message
        return replace(message, parts=tuple(self._part(part) for part in message.parts))

    def _part(self, part: Part) -> Part:
        if isinstance(part, ToolCall):
            self._made += 1
            call = part if part.id else replace(part, id=ids.made("call_", part.name, self._made))
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
    content = mapping(system, "systemInstruction")
    parts = each(content, "parts", read_part)
    return (Message(role="system", parts=parts, extra=kept(NAME, leftover(content, frozenset({"parts"})))),)


def _write_system(message: Message) -> Json:
    return {**own(message.extra, NAME), "parts": _write_parts(message.parts)}


def _read_content(data: Json) -> Message:
    role = maybe_string(data, "role")
    extra = leftover(data, _CONTENT)
    if role not in {"user", "model"} and "role" in data:
        extra["role"] = role
    elif role is None:
        extra["role"] = ""
    return Message(role=_ROLES.get(role, "user"), parts=each(data, "parts", read_part), extra=kept(NAME, extra))


def _write_content(message: Message) -> Json:
    told: Json = {"role": "model" if message.role == "assistant" else "user", **own(message.extra, NAME)}
    if told["role"] == "":
        del told["role"]
    if message.parts:
        told["parts"] = write_user(message.parts) if message.role == "user" else _write_parts(message.parts)
    return told


def _write_parts(parts: Iterable[Part]) -> list[Json]:
    return [item for part in parts for item in write_part(part)]


def _says(part: Part) -> bool:
    return not isinstance(part, Text) or bool(part.text)


def _signed(turn: Message, model: str) -> Message:
    """A turn of the model with the signatures where Google wants them: on the first call, on no part of its own."""
    if turn.role != "assistant":
        return turn
    told: list[Part] = []
    token: str | None = None
    signed = False
    for part in turn.parts:
        if isinstance(part, Thinking):
            token = part.signature or part.encrypted or token
            if part.text or part.summary:
                told.append(replace(part, signature=None, encrypted=None))
        elif isinstance(part, ToolCall):
            stand_in = NO_SIGNATURE if _SIGNERS.search(model) and not signed else None
            signature = part.signature or token or stand_in
            told.append(replace(part, signature=signature))
            signed, token = signed or signature is not None, None
        elif isinstance(part, Text) and token:
            told.append(replace(part, extra={NAME: {"thoughtSignature": token}}))
            token = None
        else:
            told.append(part)
    if token:
        told.append(Text(text="", extra={NAME: {"thoughtSignature": token}}))
    return replace(turn, parts=tuple(told))
