"""A worker of the cluster, as the conductor sees it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from demeanor.core.text.wording import printable
from demeanor.plugins.cluster.archive import Archive
from demeanor.plugins.cluster.connection import ClusterConnection
from demeanor.plugins.cluster.messages import (
    BadMessage,
    RunSetup,
    WorkerReport,
    pack_message,
    unpack_message,
    unpack_replies,
)
from demeanor.plugins.cluster.worker import (
    close_run_here,
    exchange_here,
    keep_run_alive,
    open_run_here,
    put_start_here,
)

_OPEN_SECONDS = 180.0
_SEND_SECONDS = 600.0
_CLOSE_SECONDS = 5.0
_HOLD_SECONDS = 5.0
_ENDED = "has ended the run"


class WorkerLost(Exception):
    """A worker does not answer any more."""


class UnknownRun(Exception):
    """A worker does not know the run any more, and has not begun the attempt."""


class WorkerLink:
    """A worker: what it can do, what it is doing, and whether it answers.

    A short attempt takes one call: the worker answers when it has a reply, or after `_HOLD_SECONDS`. As long as an
    attempt is in progress, there is a call that waits for replies.
    """

    def __init__(
        self,
        client: ClusterConnection,
        address: str,
        *,
        name: str,
        slots: int,
        note: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`note` is told of results that are discarded."""
        self.address = address
        self.name = name
        self.slots = slots
        self.report = WorkerReport()
        self.clock_skew = 0.0
        """At least how many seconds its clock is ahead of ours (behind, if negative)."""
        self.busy = 0
        """The attempts that it is making for this run."""
        self.broken = 0
        """Attempts in a row that could not be made there."""
        self.usable = False
        """Whether it is given attempts."""
        self.lost = False
        """Whether it was given up."""
        self.why_lost = ""
        self.watch: asyncio.Task[None] | None = None
        self._client = client
        self._sent: set[str] = set()
        self._sending = asyncio.Lock()
        self._note = note
        self._replies: dict[str, asyncio.Future[object]] = {}
        self._given_up: dict[str, str] = {}
        self._received: list[str] = []
        self._again = False
        self._calls: set[asyncio.Task[None]] = set()

    def __str__(self) -> str:
        return f"{self.name} ({self.address})" if self.name != self.address else self.address

    async def call(self, function: Callable[..., Any], *arguments: Any, seconds: float) -> Any:
        """Call one of our functions on the worker; raises WorkerLost if it does not answer in time."""
        try:
            async with asyncio.timeout(seconds):  # wait_for of Python 3.11 can lose a cancellation
                answers = await self._client.run(function, *arguments, workers=[self.address])
        except TimeoutError:
            raise WorkerLost(f"did not answer within {seconds:g} seconds") from None
        except Exception as error:  # noqa: BLE001 - whatever broke on the worker or on the way
            raise WorkerLost(printable(f"did not answer: {type(error).__name__}: {error}")) from None
        if self.address not in answers:
            raise WorkerLost("is not connected any more")
        return answers[self.address]

    async def open(self, setup: RunSetup, project: Archive | None) -> None:
        """Let the worker prepare for the run; sets `report`. Raises WorkerLost."""
        packed = pack_message(setup)
        asked = time.time()
        answer = await self.call(open_run_here, packed, seconds=_OPEN_SECONDS)
        answered = time.time()
        report, _ = unpack_message(WorkerReport, answer)
        if report.needs_project and project is not None:
            seconds = _SEND_SECONDS + (setup.build.timeout if setup.build.command else 0)
            answer = await self.call(open_run_here, packed, project.packed, seconds=seconds)
            report, _ = unpack_message(WorkerReport, answer)
        self.report = report
        if report.clock > answered:
            self.clock_skew = report.clock - answered
        else:
            self.clock_skew = min(0.0, report.clock - asked)
        self._sent.clear()

    async def send_start(self, run: str, start: Archive, *, again: bool = False) -> None:
        """Send a starting state, unless the worker has it."""
        async with self._sending:
            if again or start.sha256 not in self._sent:
                await self.call(put_start_here, run, start.sha256, start.packed, seconds=_SEND_SECONDS)
                self._sent.add(start.sha256)

    def attempt(self, run: str, nonce: str, packed: bytes, *, seconds: float) -> asyncio.Future[object]:
        """The worker's reply; WorkerLost if a call is not answered in time or the worker is given up, or UnknownRun."""
        reply: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        if self.lost:
            reply.set_exception(WorkerLost(self.why_lost))
            return reply
        self._replies[nonce] = reply
        reply.add_done_callback(partial(self._forget, nonce))
        self._begin_call(run, nonce, packed, seconds)
        return reply

    def _forget(self, nonce: str, reply: asyncio.Future[object]) -> None:
        if self._replies.get(nonce) is reply:
            del self._replies[nonce]

    def give_up(self, nonce: str, what: str) -> None:
        """Note it if the reply of an attempt arrives nevertheless; it is discarded."""
        self._given_up[nonce] = what

    async def discard_late(self, run: str, *, seconds: float) -> None:
        """Discard the replies of attempts that were given up."""
        self._again = True
        await self._exchange(run, None, seconds, hold=0.0)

    def _begin_call(self, run: str, nonce: str, packed: bytes | None, seconds: float) -> None:
        task = asyncio.create_task(self._one_call(run, nonce, packed, seconds))
        self._calls.add(task)
        task.add_done_callback(self._calls.discard)

    async def _one_call(self, run: str, nonce: str, packed: bytes | None, seconds: float) -> None:
        """Send an attempt, if there is one, and distribute replies; call again if this was the last call."""
        try:
            if not await self._exchange(run, packed, seconds, hold=min(_HOLD_SECONDS, seconds / 3)):
                self._fail([nonce] if packed else list(self._replies), UnknownRun() if packed else WorkerLost(_ENDED))
        except WorkerLost as error:
            self._fail(list(self._replies), error)
        open_replies = any(not reply.done() for reply in self._replies.values())
        if open_replies and len(self._calls) == 1:
            self._begin_call(run, "", None, seconds)

    async def _exchange(self, run: str, packed: bytes | None, seconds: float, *, hold: float) -> bool:
        """Send an attempt, if there is one, and distribute replies; False if the worker does not know the run."""
        received, self._received = tuple(self._received), []
        again, self._again = self._again, False
        try:
            answer = await self.call(exchange_here, run, packed, received, hold, again, seconds=seconds)
        except BaseException:
            self._again = True  # replies may have been lost with the call
            raise
        try:
            replies = () if answer is None else unpack_replies(answer)
        except BadMessage:
            raise WorkerLost("sent an invalid answer") from None
        for nonce, reply in replies:
            self._received.append(nonce)
            if nonce in self._given_up:
                self._note(f"a late result was discarded: {self._given_up.pop(nonce)}")
            elif nonce in self._replies and not self._replies[nonce].done():
                self._replies[nonce].set_result(reply)
        return answer is not None

    def _fail(self, nonces: Iterable[str], error: Exception) -> None:
        for nonce in nonces:
            if nonce in self._replies and not self._replies[nonce].done():
                self._replies[nonce].set_exception(error)

    async def keep_alive(self, run: str, *, seconds: float) -> bool:
        """Tell the worker that the conductor is there; False if it does not know the run."""
        return bool(await self.call(keep_run_alive, run, seconds=seconds))

    async def close(self, run: str) -> None:
        """End the run on the worker, if it answers."""
        for task in self._calls:
            task.cancel()
        try:
            await self.call(close_run_here, run, seconds=_CLOSE_SECONDS)
        except WorkerLost:
            return

    def lose(self, why: str) -> None:
        """Give the worker up, with everything that it is doing."""
        self.usable = False
        self.why_lost = why
        self.lost = True
        self._fail(list(self._replies), WorkerLost(why))
