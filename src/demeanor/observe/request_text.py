"""The texts of a request that show which conversation it belongs to."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from demeanor.core.values.exchange import Request
from demeanor.core.values.messages import Message, Part, Text, ToolCall

_NUMBERS = re.compile(r"\d+")
_SYSTEM = frozenset({"system", "developer"})
_PURPOSES = (
    ("title", re.compile(r"\btitles?\b|\bname (?:for )?(?:the|this|a) (?:session|conversation|chat)", re.I)),
    ("commit message", re.compile(r"\bcommit message", re.I)),
    ("memory", re.compile(r"\bmemor(?:y|ies)\b", re.I)),
    ("summary", re.compile(r"\bsummar(?:y|i[sz])|\bcompact", re.I)),
)
_HEAD = 300
"""Characters at the start of a text that name its purpose, if any do."""

_SHORTEST_TASK = 8
_DEEPEST = 4


def plain(text: str) -> str:
    """A text with its numbers and white space replaced: dates, times and ids differ between requests."""
    return _NUMBERS.sub("#", " ".join(text.split()))


class RequestText:
    """A request with its plain texts, each of which is computed once."""

    def __init__(self, request: Request) -> None:
        self.request = request

    @cached_property
    def opening(self) -> str:
        """The user's texts before the first answer, which all requests of a conversation share."""
        return plain("\n".join(message.text for message in self._before_answers if message.role == "user"))

    @cached_property
    def system_prompt(self) -> str:
        """The system prompt, without instructions that were added later."""
        return plain("\n".join(message.text for message in self._before_answers if message.role in _SYSTEM))

    @cached_property
    def tools(self) -> frozenset[str]:
        """The names of the tools on offer."""
        return frozenset(tool.name for tool in self.request.tools)

    @cached_property
    def appended(self) -> str:
        """The user's texts after the last answer; empty if there are only tool results."""
        after = [*itertools.takewhile(_is_not_answer, reversed(self.request.messages))]
        return plain("\n".join(message.text for message in reversed(after) if message.role == "user"))

    @cached_property
    def last_text(self) -> str:
        """The last text of the user, as it was written: agents put their own remarks before it."""
        return _last_text(self.request.messages)

    @cached_property
    def last_answer(self) -> tuple[Part, ...]:
        """The parts of the last answer of the model in the request; empty if there is none."""
        rest = itertools.dropwhile(_is_not_answer, reversed(self.request.messages))
        answer = [*itertools.takewhile(lambda message: not _is_not_answer(message), rest)]
        return tuple(part for message in reversed(answer) for part in message.parts)

    @cached_property
    def purpose(self) -> str:
        """The purpose of a side request, guessed from its texts: from their start if possible."""
        last = next((message.text for message in reversed(self.request.messages) if message.role == "user"), "")
        texts = (self.request.system, last)
        for text in (*(text[:_HEAD] for text in texts), *texts):
            for name, pattern in _PURPOSES:
                if pattern.search(text):
                    return name
        return "other"

    @cached_property
    def _before_answers(self) -> tuple[Message, ...]:
        return (*itertools.takewhile(_is_not_answer, self.request.messages),)

    def is_like(self, other: RequestText) -> tuple[bool, bool]:
        """Whether it has the same system prompt as another request, and the same tools."""
        return self.system_prompt == other.system_prompt, self.tools == other.tools

    def contains(self, text: str, *, role: str) -> bool:
        """Whether a message of this role contains a plain text."""
        return any(text in plain(message.text) for message in self.request.messages if message.role == role)

    def quoted(self, calls: Sequence[ToolCall]) -> Iterator[ToolCall]:
        """The calls that have the last text as an argument: most of the text must be the argument."""
        task = plain(self.last_text)
        for call in calls:
            values = (plain(value) for value in _strings(call.arguments, _DEEPEST))
            if any(len(text) >= _SHORTEST_TASK and text in task and 2 * len(text) >= len(task) for text in values):
                yield call


def _is_not_answer(message: Message) -> bool:
    return message.role != "assistant"


def _last_text(messages: Sequence[Message]) -> str:
    users = (message for message in reversed(messages) if message.role == "user")
    texts = (part.text.strip() for message in users for part in reversed(message.parts) if isinstance(part, Text))
    return next(filter(None, texts), "")


def _strings(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping):
        for inner in value.values():
            yield from _strings(inner, depth - 1)
    elif depth and isinstance(value, list | tuple):
        for inner in value:
            yield from _strings(inner, depth - 1)
