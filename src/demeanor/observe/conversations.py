"""Separate the exchanges of a trial: the main conversation, sub-agents, and side requests.

Agents ask their model for titles, commit messages, summaries and memories, and start sub-agents. No agent says so in a
common way, so it is inferred from what the requests contain:

- A conversation keeps its opening: the user's messages before the first answer. The main one opens with the eval's
  prompt.
- A sub-agent has another opening, usually an argument of the call that started it, or another system prompt.
- A side request has no tools, unlike the main conversation, or it continues a copy of the conversation with a message
  that is not the user's, and with other tools.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from demeanor.core.values.exchange import Exchange, Request
from demeanor.core.values.messages import ToolCall
from demeanor.observe.request_text import RequestText, plain

SUB_AGENT = "sub-agent"


@dataclass(eq=False, kw_only=True)
class Thread:
    """A conversation besides the main one: a sub-agent, or work that the agent does for itself, such as its memory."""

    number: int
    """1, 2, 3 … in the order in which they started."""

    purpose: str
    """`sub-agent`, or the purpose of a side request that uses tools."""

    prompt: str
    """Its task: the last text of its first request."""

    started_by: str
    """The id of the call that started it; empty if unknown."""

    exchanges: list[Exchange] = field(default_factory=list)
    """Its exchanges, in order."""


@dataclass(frozen=True)
class Conversations:
    """The exchanges of a trial, separated."""

    exchanges: Sequence[Exchange]
    """All exchanges, in order."""

    prompts: Sequence[str] = ()
    """The eval's prompts; empty if unknown."""

    told: Collection[str] = ()
    """The messages of the agent itself according to its own log; empty if unknown."""

    @cached_property
    def main(self) -> tuple[Exchange, ...]:
        """The main conversation."""
        return self._separated[0]

    @cached_property
    def threads(self) -> tuple[Thread, ...]:
        """The other conversations that use tools, or that a call started."""
        return self._separated[1]

    @cached_property
    def thread_of(self) -> dict[int, Thread]:
        """The other conversations, by the numbers of their exchanges."""
        return {exchange.number: thread for thread in self.threads for exchange in thread.exchanges}

    @cached_property
    def _separated(self) -> tuple[tuple[Exchange, ...], tuple[Thread, ...]]:
        separation = _Separation(self)
        for index in range(len(self.exchanges)):
            separation.place(index)
        return tuple(separation.main), tuple(separation.threads)


def first_request(exchanges: Sequence[Exchange]) -> Request | None:
    """The first request of the main agent; None if it made none."""
    return next((exchange.request for exchange in Conversations(exchanges).main[:1]), None)


class _Separation:
    """Places one exchange after the other."""

    def __init__(self, source: Conversations) -> None:
        self.main: list[Exchange] = []
        self.threads: list[Thread] = []
        self._source = source
        self._any_tools = any(exchange.request.tools for exchange in source.exchanges)
        self._prompts = [plain(prompt) for prompt in source.prompts]
        self._calls: list[ToolCall] = []
        self._openings: set[str] = set()
        self._latest: RequestText | None = None
        self._firsts: dict[int, RequestText] = {}

    def place(self, index: int) -> None:
        """Place the exchange with this index; a side request without tools belongs to no conversation."""
        exchange = self._source.exchanges[index]
        place = self._conversation(RequestText(exchange.request), index)
        if place is not None:
            place.append(exchange)
            self._calls += exchange.response.calls if exchange.response is not None else ()

    def _conversation(self, request: RequestText, index: int) -> list[Exchange] | None:
        caller = self._caller(request)
        for thread in reversed(self.threads):
            if self._continues(request, thread) and (request.last_answer or caller is None):
                return thread.exchanges
        if caller is not None:
            self._calls.remove(caller)  # it starts one sub-agent only
            return self._new_thread(request, caller.id).exchanges
        if self._any_tools and not request.tools:
            return None
        if self._latest is None or self._is_main(request, self._latest, index):
            self._openings.add(request.opening)
            self._latest = request
            return self.main
        return self._new_thread(request, "").exchanges if self._any_tools else None

    def _caller(self, request: RequestText) -> ToolCall | None:
        """The call that started a sub-agent with this first request; None if it is another request.

        A sub-agent may get the user's prompt word for word; it then differs in its tools or its system prompt. It may
        also get a copy of the conversation, with its task as another message.
        """
        if self._latest is None:
            return None
        main = self._opens_like_main(request)
        if request.last_answer:
            is_first = main and bool(request.appended) and not self._has_prompt(request.appended)
        else:
            from_user = main or self._has_prompt(request.opening)
            is_first = not (from_user and all(request.is_like(self._latest)))
        return next(request.quoted(self._calls), None) if is_first else None

    def _continues(self, request: RequestText, thread: Thread) -> bool:
        first, last = self._firsts[thread.number], thread.exchanges[-1]
        if request.opening != first.opening:
            return False
        if first.last_answer:  # it began with a copy of another conversation
            return request.contains(plain(first.last_text), role="user")
        alike = request.is_like(first)
        if not (all(alike) if self._opens_like_main(first) else any(alike)):
            return False
        if last.response is None or not request.last_answer:
            return True  # it asks again
        calls = {call.id for call in last.response.calls}
        return calls <= {part.id for part in request.last_answer if isinstance(part, ToolCall)}

    def _is_main(self, request: RequestText, latest: RequestText, index: int) -> bool:
        same_system, same_tools = request.is_like(latest)
        if not self._opens_like_main(request):  # another program for the next prompt, or a compacted conversation
            return (same_system and same_tools) or ((same_system or same_tools) and self._has_prompt(request.opening))
        if not request.appended or self._has_prompt(request.appended):
            return True
        if same_system and same_tools:
            return not self._is_unheard(index)
        return same_tools or (same_system and request.purpose == "other")

    def _opens_like_main(self, request: RequestText) -> bool:
        """Whether it opens like the main conversation; after an empty answer, another message may follow at once."""
        return any(
            request.opening == opening or request.opening.startswith(f"{opening} ") for opening in self._openings
        )

    def _has_prompt(self, text: str) -> bool:
        return any(prompt in text for prompt in self._prompts)

    def _is_unheard(self, index: int) -> bool:
        """Whether neither the agent's log nor a later request contains the answer, so that it is not the agent's."""
        answer = self._source.exchanges[index].response
        if answer is None or answer.calls or not self._source.told:
            return False
        text = plain(answer.text)
        later = (RequestText(exchange.request) for exchange in self._source.exchanges[index + 1 :])
        return not any(text in plain(said) for said in self._source.told) and not any(
            request.contains(text, role="assistant") for request in later
        )

    def _new_thread(self, request: RequestText, caller: str) -> Thread:
        """A sub-agent, or work that the agent does for itself while it waits for no call."""
        answer = self.main[-1].response
        waiting = answer is not None and bool(answer.calls)
        by_itself = "other" if caller or waiting else request.purpose
        thread = Thread(
            number=len(self.threads) + 1,
            purpose=SUB_AGENT if by_itself == "other" else by_itself,
            prompt=request.last_text,
            started_by=caller,
        )
        self.threads.append(thread)
        self._firsts[thread.number] = request
        return thread
