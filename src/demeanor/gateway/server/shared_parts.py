"""Stores equal content of a trial's requests once.

Every request repeats the whole conversation. With shared messages, the requests of a trial take about as much memory as
the last one alone, and an agent that repeats large requests does not fill the memory.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Hashable

    from demeanor.core.values.exchange import Request
    from demeanor.core.values.messages import Message, Tool

_CONTENT = ("text", "data", "raw", "encrypted")


class SharedParts:
    """The messages, tools and whole requests of one session so far."""

    def __init__(self) -> None:
        self.distinct = 0
        """Bytes of different content so far, approximately."""
        self._messages: dict[Hashable, list[Message]] = {}
        self._sizes: dict[int, tuple[Message, int]] = {}
        self._tools: tuple[Tool, ...] = ()
        self._requests: dict[int, Request] = {}

    def share(self, request: Request, body: bytes) -> Request:
        """The same request, made of the parts that earlier requests had already."""
        key = hash(body)
        if (earlier := self._requests.get(key)) is not None and earlier == request:
            return earlier
        shared = [self._share(message) for message in request.messages]
        self.distinct += max(len(body) - sum(repeated for _, repeated in shared), 0)
        self._tools = self._tools if request.tools == self._tools else request.tools
        result = replace(request, tools=self._tools, messages=tuple(message for message, _ in shared))
        self._requests[key] = result
        return result

    def _share(self, message: Message) -> tuple[Message, int]:
        """A message that is equal to this one, and the size of its content if it is not new."""
        size = self._sizes.get(id(message))
        if size is not None:  # the very same object: a dialect reads an item that is repeated once
            return size
        same = self._messages.setdefault(_key(message), [])
        for equal in same:
            if equal == message:
                return self._sizes[id(equal)]
        same.append(message)
        self._sizes[id(message)] = message, sum(map(part_size, message.parts))
        return message, 0


def _key(message: Message) -> Hashable:
    return (message.role, *(_part_key(part) for part in message.parts))


def _part_key(part: Any) -> Hashable:
    inside = (_part_key(inner) for inner in getattr(part, "parts", ()))
    return (part.kind, *(hash(getattr(part, name, None)) for name in _CONTENT), *inside)


def part_size(part: Any) -> int:
    """The bytes of a part's content, approximately."""
    own = sum(len(getattr(part, name, None) or "") for name in _CONTENT)
    return own + sum(part_size(inner) for inner in getattr(part, "parts", ()))
