"""The slots of the engine: which conversation each of them holds, and who gets one next.

The engine evaluates only what a slot does not hold yet. So a conversation gets the slot that holds its earlier turns,
and a new one takes the slot that was not used for the longest time, whose conversation has probably ended.
Trials that wait for a slot take turns.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from demeanor.gateway.models.turns import FairQueue

ChatMessages: TypeAlias = Sequence[Mapping[str, Any]]
Post: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
"""Sends a request to a path of the engine; raises EngineError."""

_MOST_PREFIXES = 8
"""Prefixes that are saved; those of Qwen take about 30 kB per token on disk."""


@dataclass(eq=False, slots=True)
class Slot:
    """One slot of the engine."""

    number: int
    """Its number in requests."""

    held: ChatMessages = ()
    """The messages of the conversation that it holds."""

    used: int = 0
    """When it was used last: larger is later."""


@dataclass(eq=False, frozen=True, slots=True)
class _Waiter:
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Slot]
    messages: ChatMessages
    shared: int


class EngineError(Exception):
    """The engine can't run or did not answer. `kind` is the engine's own error type, if it gave one."""

    def __init__(self, message: str, *, kind: str = "") -> None:
        super().__init__(message)
        self.kind = kind


class SlotPool:
    """All slots of one engine. Several event loops may use it."""

    def __init__(self, count: int) -> None:
        self._lock = threading.Lock()
        self._free = [Slot(number) for number in range(count)]
        self._waiting: FairQueue[_Waiter] = FairQueue()
        self._uses = 0

    @asynccontextmanager
    async def slot(self, messages: ChatMessages, *, shared: int, owner: str) -> AsyncIterator[Slot]:
        """A slot for a conversation of the trial `owner`; other conversations have its first `shared` messages too."""
        loop = asyncio.get_running_loop()
        waiter = _Waiter(loop, loop.create_future(), messages, shared)
        with self._lock:
            self._waiting.add(owner, waiter)
        self._hand_out()
        try:
            slot = await waiter.future
        except asyncio.CancelledError:
            if waiter.future.done() and not waiter.future.cancelled():
                self._give_back(waiter.future.result(), owner)
            raise
        try:
            yield slot
        finally:
            self._give_back(slot, owner)

    def _give_back(self, slot: Slot, owner: str) -> None:
        with self._lock:
            self._waiting.release(owner)
            self._uses += 1
            slot.used = self._uses
            self._free.append(slot)
        self._hand_out()

    def _hand_out(self) -> None:
        while True:
            with self._lock:
                if not (self._free and self._waiting):
                    return
                owner, waiter = self._waiting.take()
                slot = best_slot(self._free, waiter.messages, shared=waiter.shared)
                self._free.remove(slot)
            try:
                waiter.loop.call_soon_threadsafe(self._grant, waiter, slot, owner)
            except RuntimeError:  # its event loop is closed
                self._give_back(slot, owner)

    def _grant(self, waiter: _Waiter, slot: Slot, owner: str) -> None:
        if waiter.future.done():  # cancelled meanwhile
            self._give_back(slot, owner)
        else:
            waiter.future.set_result(slot)


class SavedPrefixes:
    """The beginnings that conversations share, evaluated once and copied to every slot that needs them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._files: dict[str, Future[str | None]] = {}

    async def load(self, slot: Slot, messages: ChatMessages, post: Post, *, shared: int) -> None:
        """Let a slot hold the first `shared` messages, and nothing else, unless it holds earlier turns of the
        conversation. If that fails, the engine evaluates the whole conversation as usual.

        What a slot holds of another conversation would save a few tokens more, but change how the rest is divided into
        batches, and thus the last digits of the results: the tokens of a trial would depend on the trials before it.
        """
        if not shared or earlier_turns(slot.held, messages, shared=shared):
            return
        prefix = messages[:shared]
        key = json.dumps(prefix)
        with self._lock:
            first = key not in self._files
            if first and len(self._files) == _MOST_PREFIXES:
                return
            saved = self._files.setdefault(key, Future())
            name = f"{len(self._files)}.state"
        if first:
            await _evaluate(slot, prefix, post, saved, name)
        elif saved_name := await asyncio.shield(asyncio.wrap_future(saved)):
            with contextlib.suppress(EngineError):
                slot.held = ()
                await post(f"/slots/{slot.number}?action=restore", {"filename": saved_name})


async def _evaluate(slot: Slot, prefix: ChatMessages, post: Post, saved: Future[str | None], name: str) -> None:
    """Evaluate a prefix and save the slot's state for others, which wait for it meanwhile."""
    slot_name = None
    try:
        slot.held = ()
        await post("/v1/chat/completions", {"messages": prefix, "max_tokens": 1, "id_slot": slot.number})
        await post(f"/slots/{slot.number}?action=save", {"filename": name})
        slot_name = name
    except EngineError:
        return
    finally:
        saved.set_result(slot_name)


def best_slot(slots: Sequence[Slot], messages: ChatMessages, *, shared: int) -> Slot:
    """The slot that holds most of a conversation, apart from what all share; else the least recently used one."""

    def rank(slot: Slot) -> tuple[int, int]:
        return earlier_turns(slot.held, messages, shared=shared), -slot.used

    return max(slots, key=rank)


def earlier_turns(held: ChatMessages, messages: ChatMessages, *, shared: int) -> int:
    """How many messages of earlier turns a slot holds, apart from those that all share; 0 for a new conversation."""
    common = common_messages(held, messages)
    return common - shared if shared < common < len(messages) else 0


def common_messages(messages: ChatMessages, other: ChatMessages) -> int:
    """How many messages at the start of two conversations are equal."""
    pairs = enumerate(zip(messages, other, strict=False))
    return next((at for at, (left, right) in pairs if left != right), min(len(messages), len(other)))
