"""One program under its supervisor: what it prints, how long it may take, and how it ended.

The same program can be attended in two ways: `attend` in an event loop, for agents; `attend_blocking` in a worker
thread, for checks.
"""

from __future__ import annotations

import asyncio
import errno
import os
import select
import socket
import time
from collections.abc import Callable
from typing import Literal, Protocol

from demeanor.core.bounded_output import BoundedOutput
from demeanor.core.errors import WorldError
from demeanor.core.process import Limits, ProcessEnd
from demeanor.core.text import one_line
from demeanor.core.verdict import VoidCause
from demeanor.sandboxes.supervisor.supervisor import KILL, TERM

_CHUNK = 65536
_DEATH_TAKES = 10.0
_STRERRORS = {os.strerror(number): number for number in errno.errorcode}
_NOT_THERE = {errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR, errno.ELOOP, errno.EISDIR}


async def supervise(program: SupervisedProcess, last_activity: Callable[[], float]) -> ProcessEnd:
    """See a program to its end. When this returns or raises, every process it started is gone."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    timer: asyncio.TimerHandle | None = None

    def listen() -> None:
        if program.listen() and not over.done():
            over.set_result(None)

    def hear(pipe: int, kept: BoundedOutput) -> None:
        if not program.hear(pipe, kept):
            loop.remove_reader(pipe)

    def look_at_clock() -> None:
        nonlocal timer
        if timer:
            timer.cancel()
        try:
            timer = loop.call_at(program.keep_limits(last_activity), look_at_clock)
        except WorldError as error:
            if not over.done():
                over.set_exception(error)

    look_at_clock()
    loop.add_reader(program.control, listen)
    for pipe, kept in program.streams:
        loop.add_reader(pipe, hear, pipe, kept)
    try:
        await over
        return program.end()
    except asyncio.CancelledError:
        over = loop.create_future()
        program.ask_to_end()
        look_at_clock()
        while not (program.over or over.done()):
            try:
                await asyncio.wait([over])
            except asyncio.CancelledError:
                continue  # being asked twice is no reason to leave processes behind
        if over.done():
            over.exception()
        raise
    finally:
        if timer:
            timer.cancel()
        loop.remove_reader(program.control)
        for pipe, _ in program.streams:
            loop.remove_reader(pipe)


def attend_blocking(program: SupervisedProcess) -> ProcessEnd:
    """See a program to its end in a worker thread."""
    ears = select.poll()
    ears.register(program.control, select.POLLIN)
    kept_of = dict(program.streams)
    for pipe in kept_of:
        ears.register(pipe, select.POLLIN)
    while not program.over:
        wait = program.keep_limits(time.monotonic) - time.monotonic()
        for fd, _ in ears.poll(max(wait, 0) * 1000 + 1):
            if fd not in kept_of:
                program.listen()
            elif not program.hear(fd, kept_of[fd]):
                ears.unregister(fd)
    return program.end()


class Starter(Protocol):
    """Whoever has supervisors: the launcher, or a room with its own."""

    def launch(self, message: bytes, fds: tuple[int, int]) -> socket.socket:
        """Hand a launch to a supervisor, with the pipes to print to; the socket to control it by."""
        ...

    def hear(self, control: socket.socket) -> bytes | None:
        """What the supervisor says; empty when it has gone, None where it is not about its program."""
        ...

    def give_back(self, control: socket.socket, *, in_peace: bool) -> None:
        """Take the supervisor back; in peace means that its program ended by itself and left nothing running."""
        ...


class SupervisedProcess:
    """A program that was handed to its supervisor, and what is known of it so far."""

    def __init__(self, starter: Starter, message: bytes, *, name: str, limits: Limits) -> None:
        self.over = False
        self._starter = starter
        self._name = name
        self._limits = limits
        self._ended_by: Literal["exit", "wall", "idle"] = "exit"
        self._report = b""
        self._killed = False
        self._next: float | None = None
        out, to_out = os.pipe()
        err, to_err = os.pipe()
        os.set_blocking(out, False)
        os.set_blocking(err, False)
        self.streams = ((out, BoundedOutput(limits.output_bytes)), (err, BoundedOutput(limits.output_bytes)))
        self._started = self._heard = time.monotonic()
        try:
            self.control = starter.launch(message, (to_out, to_err))
        except BaseException:
            os.close(out)
            os.close(err)
            raise
        finally:
            os.close(to_out)
            os.close(to_err)

    def close(self) -> None:
        """Let go of everything. A supervisor that is still at work takes this for the order to kill."""
        for pipe, _ in self.streams:
            os.close(pipe)
        self._starter.give_back(self.control, in_peace=self._in_peace())

    def _in_peace(self) -> bool:
        """Whether it ended by itself and left nothing running."""
        return self._next is None and self._report.startswith(b"end") and self._report.split()[2] == b"0"

    def hear(self, pipe: int, kept: BoundedOutput) -> bool:
        """Take in what was printed; whether there may be more."""
        try:
            data = os.read(pipe, _CHUNK)
        except BlockingIOError:
            return True
        if data:
            self._heard = time.monotonic()
            kept.add(data)
        return bool(data)

    def listen(self) -> bool:
        """Take in what the supervisor says; whether that was its last word."""
        try:
            words = self._starter.hear(self.control)
        except BlockingIOError:
            return False
        except OSError:
            words = b""
        if words is None:
            return False
        self._report += words
        self.over = not words or self._report.endswith(b"\n")
        return self.over

    def ask_to_end(self) -> None:
        """End all its processes because nobody wants it any more: now, unless it is to say farewell."""
        if not self._limits.farewell:
            self.kill()
        elif self._next is None:
            self._say(TERM)
            self._next = time.monotonic() + self._limits.farewell

    def kill(self) -> None:
        """End all its processes now."""
        self._killed = True
        self._next = time.monotonic() + _DEATH_TAKES
        self._say(KILL)

    def keep_limits(self, last_activity: Callable[[], float]) -> float:
        """Do what the clock demands; the moment at which to look again. Activity is asked until a limit is reached."""
        now = time.monotonic()
        if self.over:
            return now + _DEATH_TAKES
        if self._next is None:
            return self._watch(now, last_activity)
        if now < self._next:
            return self._next
        if self._killed:
            raise WorldError(VoidCause.SANDBOX, f"its processes did not die within {_DEATH_TAKES:g} s")
        self.kill()
        return now + _DEATH_TAKES

    def _watch(self, now: float, last_activity: Callable[[], float]) -> float:
        if now < (due := self._due(last_activity)):
            return due
        # A busy machine may come here late. What the program did in time is in the socket and the pipes, and counts.
        if self._has_reported():
            return now
        for pipe, kept in self.streams:
            self.hear(pipe, kept)
        if now < (due := self._due(last_activity)):
            return due
        self._ended_by = "wall" if now >= self._started + self._limits.wall else "idle"
        self._say(TERM)
        self._next = now + self._limits.grace
        return self._next

    def _due(self, last_activity: Callable[[], float]) -> float:
        """When the first of its limits is reached, as far as we know now."""
        due = self._started + self._limits.wall
        if self._limits.idle is None:
            return due
        return min(due, max(self._heard, last_activity()) + self._limits.idle)

    def _has_reported(self) -> bool:
        """Whether the supervisor has said something that was not read yet."""
        ear = select.poll()
        ear.register(self.control, select.POLLIN)
        return bool(ear.poll(0))

    def _say(self, word: bytes) -> None:
        try:
            self.control.send(word)
        except OSError:
            return  # it has gone; `listen` will hear so

    def end(self) -> ProcessEnd:
        """How it ended; raises WorldError where it could not be started, or where its supervisor died."""
        seconds = time.monotonic() - self._started
        (_, out), (_, err) = self.streams
        for pipe, kept in self.streams:
            self._drain(pipe, kept)
        word, *numbers = self._report.split() or [b"nothing"]
        if word == b"fail" and numbers[0] == b"bwrap":
            raise _wall_error(err.output().text, self._name)
        if word == b"fail" and numbers[0] == b"room":
            raise WorldError(VoidCause.SANDBOX, f"the sandbox can't be furnished: {self._report[10:].decode().strip()}")
        if word == b"fail":
            raise _start_error(numbers[0] == b"enter", int(numbers[1]), self._name)
        if word != b"end":
            raise WorldError(VoidCause.SANDBOX, "the supervisor was killed; all processes of the attempt were ended")
        status, leftovers, cpu, peak, *limit = numbers
        code = os.waitstatus_to_exitcode(int(status))
        return ProcessEnd(
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            ended_by="memory" if limit else self._ended_by,
            stdout=out.output(),
            stderr=err.output(),
            seconds=seconds,
            leftovers=int(leftovers),
            cpu_seconds=float(cpu),
            peak_bytes=int(peak),
        )

    def _drain(self, pipe: int, kept: BoundedOutput) -> None:
        """Take what is in the pipe, and no more: somebody else may hold it open."""
        for _ in range(64):
            try:
                data = os.read(pipe, _CHUNK)
            except BlockingIOError:
                return
            if not data:
                return
            kept.add(data)


def _wall_error(said: str, name: str) -> WorldError:
    """Why bubblewrap did not come to start the program."""
    last = one_line(said.strip().rpartition("\n")[2].removeprefix("bwrap: "), width=300)
    program, _, why = last.removeprefix("execvp ").rpartition(": ")
    if last.startswith("execvp ") and why in _STRERRORS:
        return _start_error(False, _STRERRORS[why], program or name)
    return WorldError(VoidCause.SANDBOX, f"bubblewrap could not start {one_line(name, width=200)}: {last or 'no word'}")


def _start_error(entering: bool, number: int, name: str) -> WorldError:
    program = one_line(name, width=200) or "(no program)"
    if entering:
        return WorldError(VoidCause.SANDBOX, f"the workspace can't be entered: {os.strerror(number)}")
    if number == errno.E2BIG:
        return WorldError(
            VoidCause.HARNESS,
            f"{program}: its arguments and environment are too long for this system; hand long prompts over in a file",
        )
    if number not in _NOT_THERE:
        return WorldError(VoidCause.SANDBOX, f"{program}: can't be started: {os.strerror(number)}")
    why = {
        errno.ENOENT: "not found",
        errno.EACCES: "is not executable",
        errno.ENOEXEC: "is no program (a script needs a first line like #!/bin/sh)",
    }.get(number, os.strerror(number))
    return WorldError(VoidCause.MISSING, f"{program}: {why}; install it, or correct the agent's command")
