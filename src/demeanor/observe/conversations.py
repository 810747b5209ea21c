"""Separate the exchanges of a trial: the main conversation, sub-agents, and side requests.

Agents ask their model for titles, commit messages and summaries, and start sub-agents. A side request has no tools,
unlike the main conversation. A sub-agent has its own system prompt and first message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from demeanor.core.exchange import Exchange, Request

_NUMBERS = re.compile(r"\d+")
_PURPOSES = (
    ("title", re.compile(r"\btitles?\b|\bname (?:for )?(?:the|this|a) (?:session|conversation|chat)", re.I)),
    ("commit message", re.compile(r"\bcommit message", re.I)),
    ("summary", re.compile(r"\bsummar(?:y|i[sz]e)|\bcompact", re.I)),
)


@dataclass(frozen=True)
class Conversations:
    """The exchanges of a trial, separated."""

    exchanges: Sequence[Exchange]
    """All exchanges, in order."""

    @cached_property
    def main(self) -> tuple[Exchange, ...]:
        """The main conversation."""
        working = self._working
        return tuple(one for one in working if _same_conversation(one.request, working[0].request))

    @cached_property
    def sub_agents(self) -> tuple[Exchange, ...]:
        """The exchanges of sub-agents."""
        main = {one.number for one in self.main}
        return tuple(one for one in self._working if one.number not in main)

    @cached_property
    def asides(self) -> tuple[Exchange, ...]:
        """The side requests."""
        working = {one.number for one in self._working}
        return tuple(one for one in self.exchanges if one.number not in working)

    @cached_property
    def _working(self) -> tuple[Exchange, ...]:
        with_tools = tuple(one for one in self.exchanges if one.request.tools)
        return with_tools or tuple(self.exchanges)


def _same_conversation(request: Request, first: Request) -> bool:
    return _plain(request.system) == _plain(first.system) or _opening(request) == _opening(first)


def _opening(request: Request) -> str:
    return _plain(next((message.text for message in request.messages if message.role == "user"), ""))


def _plain(text: str) -> str:
    """A text with its numbers replaced: dates, times and ids differ between requests."""
    return _NUMBERS.sub("#", text)


def purpose(request: Request) -> str:
    """The purpose of a side request, guessed from its text."""
    last = next((message.text for message in reversed(request.messages) if message.role == "user"), "")
    for text in (request.system, last):
        for name, pattern in _PURPOSES:
            if pattern.search(text):
                return name
    return "other"
