"""What a worker says about the checks of one attempt, and the time that each of them has left.

The conversation does no I/O of its own: a thread or the event loop brings it the messages.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import replace

from demeanor.core.values.eval import Eval
from demeanor.judge.answers import CheckAnswer
from demeanor.judge.check_answers import title
from demeanor.judge.check_channel import Channel, Message
from demeanor.judge.check_worker import Printed

SETUP_SECONDS = 600.0
"""The longest time to create the workspace of a rehearsal."""


class CheckConversation:
    """The state of one conversation with a worker."""

    def __init__(self, eval: Eval, numbers: tuple[int, ...], limit: float) -> None:  # noqa: A002
        """`numbers`: of the checks that are asked, in order. `limit`: seconds for one check."""
        self.over = False
        """Whether the worker has answered everything and is free again."""
        self._eval = eval
        self._number = numbers[0]
        self._limit = limit
        self._printed = Printed()
        self._deadline = time.monotonic() + limit

    def seconds_left(self) -> float:
        """The time until the current check has to answer; never 0, which would mean no time limit for a socket."""
        return max(0.0, self._deadline - time.monotonic()) or 1e-3

    def take(self, message: Message) -> Iterator[CheckAnswer]:
        """A message of the worker; yields an answer if it is one."""
        what, *rest = message
        if what == "print":
            self._printed.add(rest[0])
            return
        if what == "answer":
            yield replace(rest[0], printed=self._printed.take())
        elif what == "began":
            self._number = rest[0]
        elif what == "done":
            self.over = True
        self._deadline = time.monotonic() + (SETUP_SECONDS if what == "setup" else self._limit)

    def late(self) -> CheckAnswer:
        """The answer of a check that did not answer in time."""
        return self._crash(f"did not end within {self._limit:g} s")

    def ended(self) -> CheckAnswer:
        """The answer of a check that ended its process."""
        return self._crash("crashed: it ended the process in which checks run")

    def _crash(self, how: str) -> CheckAnswer:
        return CheckAnswer(check=title(self._eval.checks[self._number]), crash=how, printed=self._printed.take())


async def send_all(channel: Channel, data: bytes, conversation: CheckConversation) -> None:
    """Send data through a non-blocking channel; raises TimeoutError after the time that is left."""
    left = memoryview(data)
    while left:
        try:
            left = left[channel.socket.send(left) :]
        except BlockingIOError:
            await _ready(channel, conversation, writing=True)


async def receive(channel: Channel, conversation: CheckConversation) -> Message:
    """The next message from a non-blocking channel; raises TimeoutError after the time that is left."""
    while (message := channel.received()) is None:
        try:
            channel.read()
        except BlockingIOError:
            await _ready(channel, conversation, writing=False)
    return message


async def _ready(channel: Channel, conversation: CheckConversation, *, writing: bool) -> None:
    """Wait until something can be sent or received. The descriptor is no longer watched when this returns, because it
    may be closed next."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()
    add, remove = (loop.add_writer, loop.remove_writer) if writing else (loop.add_reader, loop.remove_reader)

    def finish() -> None:
        if not ready.done():
            ready.set_result(None)

    descriptor = channel.socket.fileno()  # asyncio makes a text of a socket, which takes a while
    add(descriptor, finish)
    try:
        async with asyncio.timeout(conversation.seconds_left()):
            await ready
    finally:
        remove(descriptor)
