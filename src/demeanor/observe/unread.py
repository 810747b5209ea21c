"""Calls that are not where calls usually are, and what the gateway forwards and does not read as calls.

Read as calls are those of the first answer, and of others what the conversation went on with. These are forwarded and
not read, so that each of them is a gap:
- other answers (`n`, `candidateCount`) with calls, and all other answers that are streamed,
- items of the provider's own tools, such as searches, code and MCP servers; `executed_tools` of openai-chat,
- plain text, if no request declares a tool and no log was read.

The workspace is evidence of its own: a file that was changed, though no call could have done that, is a gap too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from demeanor.core.text.wording import one_line
from demeanor.core.values.capture import Capture
from demeanor.core.values.exchange import Exchange, Request, Response
from demeanor.core.values.messages import Opaque, Part, ToolCall
from demeanor.core.values.trajectory import Called, Event, Kind

_LEGACY = "function_call"
_CALLS = frozenset({"tool_calls", _LEGACY, "functionCall"})
_EXECUTED = "executed_tools"
_HARMLESS = frozenset({Kind.READ, Kind.SEARCH, Kind.FETCH, Kind.THINK})
_NO_CALLS = frozenset({"compaction"})
"""Items without a canonical form that are no calls."""


def with_unusual_calls(exchanges: Sequence[Exchange]) -> tuple[Exchange, ...]:
    """The exchanges with the calls that clients of an old API get, and those of the answer that the agent went on with,
    if it asked for several at once."""
    return tuple(
        exchange if exchange.response is None else _with_calls(exchange, exchange.response, exchanges[index + 1 :])
        for index, exchange in enumerate(exchanges)
    )


def call_gaps(exchanges: Sequence[Exchange], log: Sequence[Event], events: Sequence[Event]) -> tuple[str, ...]:
    """Why there may have been calls that were not seen, though every exchange was recorded."""
    gaps = [gap for exchange in exchanges for gap in _unread(exchange)]
    declared = any(exchange.request.tools or _own(exchange).get("functions") for exchange in exchanges)
    if exchanges and not declared and not log and not any(isinstance(event, Called) for event in events):
        gaps.append("no request declares a tool and no log of the agent was read: its calls may be in its text")
    return tuple(dict.fromkeys(gaps))


def unexplained_change(capture: Capture, events: Sequence[Event]) -> Iterator[str]:
    """Why there must have been calls that were not seen: a file of the start was changed, and no call could do that.

    New files may be those that the agent keeps for itself; so may be changes of what git keeps, and of its exceptions.
    """
    if capture.then or any(isinstance(event, Called) and event.kind not in _HARMLESS for event in events):
        return
    for path, entry in capture.before.entries.items():
        after = capture.after.entries.get(path)
        own = entry.kind == "folder" or ".git" in path.split("/") or path.endswith(".gitignore")
        if own or entry is after or entry.same(after):
            continue
        done = "deleted" if after is None else "changed"
        yield f"{one_line(path, width=100)} was {done}, and no call that was seen could do that"
        return


def _with_calls(exchange: Exchange, response: Response, later: Sequence[Exchange]) -> Exchange:
    calls = [*_legacy(response.extra.get(f"{exchange.dialect}.message"), exchange.number)]
    if _answers(exchange) > 1:
        seen = {(call.name, str(call.arguments)) for call in response.calls}
        own = (part for part in _continued(exchange.request, later) if isinstance(part, ToolCall))
        calls += [call for call in own if (call.name, str(call.arguments)) not in seen]
    return replace(exchange, response=replace(response, parts=(*response.parts, *calls))) if calls else exchange


def _legacy(message: Any, number: int) -> Iterator[ToolCall]:
    call = message.get(_LEGACY) if isinstance(message, Mapping) else None
    if isinstance(call, Mapping) and isinstance(call.get("name"), str):
        raw = str(call.get("arguments") or "")
        yield ToolCall(id=f"{_LEGACY}_{number}", name=call["name"], arguments=_arguments(raw), raw=raw)


def _arguments(raw: str) -> dict[str, Any] | None:
    try:
        read = json.loads(raw or "{}")
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None


def _continued(request: Request, later: Sequence[Exchange]) -> Sequence[Part]:
    """The answer to a request that the conversation went on with."""
    count = len(request.messages)
    for exchange in later:
        messages = exchange.request.messages
        if len(messages) > count and messages[:count] == request.messages and messages[count].role == "assistant":
            return messages[count].parts
    return ()


def _unread(exchange: Exchange) -> Iterator[str]:
    response = exchange.response
    if response is None:
        return
    where = f"the answer to request {exchange.number}"
    others = response.extra.get(f"{exchange.dialect}.others") or ()
    streamed = exchange.request.stream and _answers(exchange) > 1
    if streamed or any(map(_has_calls, others)):
        yield f"{where} is one of several, and what the agent took from the others was not seen"
    for part in response.parts:
        if isinstance(part, Opaque) and (kind := _kind(part)) not in _NO_CALLS:
            yield f"{where} has a part that is not read: {kind}"
    if (response.extra.get(f"{exchange.dialect}.message") or {}).get(_EXECUTED):
        yield f"{where} has a part that is not read: {_EXECUTED}"


def _answers(exchange: Exchange) -> int:
    """How many answers at once a request asks for."""
    own = _own(exchange)
    settings = own.get("generationConfig")
    asked = own.get("n") or (settings.get("candidateCount") if isinstance(settings, Mapping) else None)
    return asked if isinstance(asked, int) else 1


def _own(exchange: Exchange) -> Mapping[str, Any]:
    fields = exchange.request.extra.get(exchange.dialect)
    return fields if isinstance(fields, Mapping) else {}


def _has_calls(value: Any) -> bool:
    """Whether there is a call anywhere in a further answer."""
    if isinstance(value, Mapping):
        return any((key in _CALLS and bool(inner)) or _has_calls(inner) for key, inner in value.items())
    return isinstance(value, list | tuple) and any(map(_has_calls, value))


def _kind(part: Opaque) -> str:
    data = next(iter(part.extra.values()), None)
    if not isinstance(data, Mapping):
        return "unknown"
    return one_line(str(data.get("type") or next(iter(data), "unknown")), width=60)
