"""One trial's own door to its model: its address, its token, and everything that went through."""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from demeanor.gateway.server.exchange_recorder import ExchangeRecorder

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from demeanor.core.exchange import Exchange, Request
    from demeanor.core.fault import Fault
    from demeanor.core.trial import Trial
    from demeanor.gateway.server.budget import BudgetAccount
    from demeanor.gateway.server.metrics import MetricsCollector

Serve: TypeAlias = "Callable[[socket.socket, Session], Awaitable[None]]"
"""Serves one session on a socket of its own; `GatewayServer.listen` is one."""

BYTES_PER_TOKEN = 4
"""What is spent where nobody counts: a rough and steady guess."""


def shared(request: Request, earlier: Request | None) -> Request:
    """The same request, made of the earlier one's parts where they are equal.

    Every request repeats the whole conversation so far; kept like this, a trial's requests take as much room as its
    last one, and not as the sum of all.
    """
    if earlier is None:
        return request
    tools = earlier.tools if request.tools == earlier.tools else request.tools
    pairs = zip(request.messages, earlier.messages, strict=False)
    known = [old if new == old else new for new, old in pairs]
    return replace(request, tools=tools, messages=(*known, *request.messages[len(known) :]))


class Session:
    """What one attempt at one trial is given; see `GatewaySession` in core/ports.py."""

    def __init__(
        self, trial: Trial, *, seed: int, address: str, purse: BudgetAccount, books: MetricsCollector, serve: Serve
    ) -> None:
        self.id = secrets.token_hex(8)
        self.trial = trial
        self.seed = seed
        self.address = address
        self.purse = purse
        self.closing = AsyncExitStack()
        self.facts: dict[str, str] = {}
        self.memory: dict[object, Any] = {}
        self.over = False
        self._token = "hf-" + secrets.token_hex(20)
        self._books = books
        self._serve = serve
        self._began = self._activity = time.monotonic()
        self._entries: list[Exchange | ExchangeRecorder] = []
        self._open: set[ExchangeRecorder] = set()
        self._tasks: set[asyncio.Task[object]] = set()
        self._notes: dict[str, None] = {}
        self._latest: Request | None = None

    @property
    def base_url(self) -> str:
        """Where the agent finds it, without a version path such as /v1."""
        return f"{self.address}/t/{self.id}"

    @property
    def token(self) -> str:
        """The key the agent presents."""
        return self._token

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of the model that answers, and of faults that never came to be."""
        return (*self._notes, *self._unmet())

    def set_address(self, address: tuple[str, int]) -> None:
        """From now on `base_url` is at an address of the session's own, at which it will `listen`."""
        self.address = f"http://{address[0]}:{address[1]}"

    async def listen(self, listener: socket.socket) -> None:
        """Serve this session, and no other, on a socket of its own."""
        await self._serve(listener, self)

    async def close_connections(self) -> None:
        """End what is under way and answer nothing any more; what went over the wire can still be asked."""
        self.over = True
        await self.close()

    def note(self, *texts: str) -> None:
        """Add what a person should know, each thing once."""
        self._notes.update(dict.fromkeys(texts))

    def set_facts(self, facts: Mapping[str, str]) -> None:
        """Take note of the bench that the agent works on."""
        self.facts.update(facts)

    def last_activity(self) -> float:
        """The monotonic time of the last byte in either direction."""
        return max([self._activity, *(recording.activity for recording in self._open)])

    def waiting(self) -> bool:
        """Whether the provider owes an answer right now."""
        return any(recording.owed for recording in self._open)

    def exchanges(self) -> tuple[Exchange, ...]:
        """Everything that went over the wire, in order of arrival; also what is still under way, as far as it came."""
        return tuple(entry.exchange() if isinstance(entry, ExchangeRecorder) else entry for entry in self._entries)

    def fault(self, number: int) -> Fault | None:
        """The fault that goes into the answer of exchange `number`, if any; what is no exchange has none."""
        rules = self.trial.eval.scenario.faults if number else ()
        return next((fault for fault in rules if fault.hits(number, self.seed)), None)

    def touch(self) -> None:
        """Note that bytes moved just now."""
        self._activity = time.monotonic()

    @contextmanager
    def busy(self) -> Iterator[None]:
        """While a request is served, so that `close` can end it."""
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a request is always served in a task
        self._tasks.add(task)
        self.touch()
        try:
            yield
        finally:
            self._tasks.discard(task)

    @contextmanager
    def recording(self, dialect: str, request: Request, *, started: float, size: int) -> Iterator[ExchangeRecorder]:
        """Record one exchange from here to the end of the block, however that ends."""
        recording = ExchangeRecorder(
            number=len(self._entries) + 1,
            dialect=dialect,
            request=shared(request, self._latest),
            started=started,
            origin=self._began,
        )
        self._latest = recording.request
        self._entries.append(recording)
        self._open.add(recording)
        self._books.open += 1
        try:
            yield recording
        finally:
            recording.end()
            exchange = recording.exchange()
            self._entries[recording.number - 1] = exchange
            self._open.discard(recording)
            self._activity = max(self._activity, recording.activity)
            self._books.open -= 1
            self._books.enter(exchange)
            self._spend(exchange, size)

    async def close(self) -> None:
        """End what is still under way, and everything that listens for this session alone."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.closing.aclose()

    def _unmet(self) -> Iterator[str]:
        """Faults for exchanges that there were not enough of, or whose answers gave them nothing to break."""
        injected = {entry.fault for entry in self._entries}
        for fault in self.trial.eval.scenario.faults:
            if fault.first is not None and str(fault) not in injected:
                count = f"{len(self._entries)} exchange{'s' if len(self._entries) != 1 else ''}"
                yield f"the fault {fault} was not injected: there were {count}, and none that it could break"

    def _spend(self, exchange: Exchange, size: int) -> None:
        """Take an exchange out of the purse. Where the provider did not count, the request counts by its size."""
        if exchange.response is None:
            return
        usage = exchange.response.usage
        known = [n for n in (usage.input, usage.output) if n is not None]
        self.purse.spend(sum(known) if known else size // BYTES_PER_TOKEN, exchange.cost_usd)
        if exchange.cost_usd is None and self.purse.counts_usd():
            self.note(f"the price of {exchange.request.model!r} is not known: a budget in dollars can't hold it back")
