"""A stream as one JSON value, so that a stream can be checked with the same expectations as a whole message."""

from __future__ import annotations

from typing import Any

from demeanor.core.values.messages import Text, Thinking
from demeanor.gateway.contract.wellformed import stream_problems
from demeanor.gateway.dialects import DIALECTS
from demeanor.gateway.dialects.gemini.json_array_stream import AutoFramingReader
from demeanor.gateway.dialects.sse import Event
from demeanor.gateway.dialects.stream_events import Assembler
from demeanor.gateway.dialects.strict_json import loads


def stream_view(dialect: str, body: bytes) -> dict[str, Any]:
    """The events of a stream, the response they add up to, and the problems of their format."""
    events = events_of(body)
    reader, assembler = DIALECTS[dialect].stream_reader(), Assembler()
    for delta in [*reader.feed(body), *reader.close()]:
        assembler.take(delta)
    answer = assembler.response()
    error = assembler.error
    return {
        "events": events,
        "complaints": stream_problems(dialect, events, broke=error is not None),
        "id": answer.id,
        "model": answer.model,
        "text": "".join(part.text for part in answer.parts if isinstance(part, Text)),
        "thinking": "".join(part.text or "".join(part.summary) for part in answer.parts if isinstance(part, Thinking)),
        "tokens": [
            part.signature or part.encrypted
            for part in answer.parts
            if isinstance(part, Thinking) and (part.signature or part.encrypted)
        ],
        "calls": [
            {
                "id": call.id,
                "name": call.name,
                "arguments": call.arguments,
                "raw": call.raw,
                "signature": call.signature,
            }
            for call in answer.calls
        ],
        "kinds": [part.kind for part in answer.parts],
        "stop": answer.stop.value,
        "usage": {name: getattr(answer.usage, name) for name in ("input", "output", "cache_read", "reasoning")},
        "cache_write": answer.usage.cache_write,
        "error": None if error is None else {"reason": error.reason, "message": error.message},
    }


def events_of(body: bytes) -> list[dict[str, Any]]:
    """The events of a stream with their data; data that is not JSON stays text."""
    reader = AutoFramingReader()
    return [_to_dict(event) for event in [*reader.feed(body), *reader.close()]]


def _to_dict(event: Event) -> dict[str, Any]:
    text = event.data.decode("utf-8", "replace")
    try:
        data = loads(text)
    except ValueError:
        data = text
    return {"name": event.name, "data": data}
