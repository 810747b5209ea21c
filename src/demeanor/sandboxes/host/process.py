"""One program that a supervisor runs: its output, its time limits, and how it ended.

`supervise` waits for it in an event loop, for agents; `supervise_blocking` in a worker thread, for checks.
"""

from __future__ import annotations

import asyncio
import errno
import os
import select
import socket
import time
from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from demeanor.core.redaction.encodings import forms
from demeanor.core.text.bounded_output import BoundedOutput
from demeanor.core.text.wording import one_line
from demeanor.core.values.errors import WorldError
from demeanor.core.values.process import Limits, ProcessEnd
from demeanor.core.values.verdict import VoidCause
from demeanor.sandboxes.supervisor.supervisor import KILL, TERM

_CHUNK = 65536
_ASKED = b"asked="
_KILL_TIMEOUT = 10.0
_STRERRORS = {os.strerror(number): number for number in errno.errorcode}
_MISSING = {errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR, errno.ELOOP, errno.EISDIR}


async def supervise(program: SupervisedProcess, last_activity: Callable[[], float]) -> ProcessEnd:
    """Wait for a program. When this returns or raises, every process it started is gone."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()
    timer: asyncio.TimerHandle | None = None

    def read_report() -> None:
        if program.read_report() and not over.done():
            over.set_result(None)

    def read_output(pipe: int, output: BoundedOutput) -> None:
        if not program.read_output(pipe, output):
            loop.remove_reader(pipe)

    def check_limits() -> None:
        nonlocal timer
        if timer:
            timer.cancel()
        try:
            timer = loop.call_at(program.enforce_limits(last_activity), check_limits)
        except WorldError as error:
            if not over.done():
                over.set_exception(error)

    check_limits()
    control = program.control.fileno()  # asyncio makes a text of a socket, which takes a while
    loop.add_reader(control, read_report)
    for pipe, output in program.streams:
        loop.add_reader(pipe, read_output, pipe, output)
    try:
        await over
        return program.end()
    except asyncio.CancelledError:
        over = loop.create_future()
        program.terminate()
        check_limits()
        while not (program.over or over.done()):
            try:
                await asyncio.wait([over])
            except asyncio.CancelledError:
                continue  # a second cancellation does not leave processes behind
        if over.done():
            over.exception()
        raise
    finally:
        if timer:
            timer.cancel()
        loop.remove_reader(control)
        for pipe, _ in program.streams:
            if pipe not in program.ended_streams:
                loop.remove_reader(pipe)
        last_activity = time.monotonic  # check_limits refers to itself and would keep the attempt's session for long


def supervise_blocking(program: SupervisedProcess) -> ProcessEnd:
    """Wait for a program, in a worker thread."""
    poller = select.poll()
    poller.register(program.control, select.POLLIN)
    outputs = dict(program.streams)
    for pipe in outputs:
        poller.register(pipe, select.POLLIN)
    while not program.over:
        wait = program.enforce_limits(time.monotonic) - time.monotonic()
        for fd, _ in poller.poll(max(wait, 0) * 1000 + 1):
            if fd not in outputs:
                program.read_report()
            elif not program.read_output(fd, outputs[fd]):
                poller.unregister(fd)
    return program.end()


class ProcessStarter(Protocol):
    """Hands programs to supervisors: the launcher, or the client of one sandbox's own supervisor."""

    def launch(self, message: bytes, fds: tuple[int, int]) -> socket.socket:
        """Send a launch to a supervisor, with the pipes for its output; returns the control socket."""
        ...

    def receive(self, control: socket.socket) -> bytes | None:
        """Receive from the supervisor; empty when it has exited, None when it is not part of the report."""
        ...

    def release(self, control: socket.socket, *, clean: bool) -> None:
        """Take the supervisor back; `clean` when its program exited by itself and left nothing running."""
        ...


class SupervisedProcess:
    """A program that was handed to its supervisor, and its state so far."""

    def __init__(self, starter: ProcessStarter, message: bytes, *, argv: Sequence[str], limits: Limits) -> None:
        self.over = False
        self._starter = starter
        self._name = argv[0] if argv else ""
        self._limits = limits
        self._ended_by: Literal["exit", "wall", "idle"] = "exit"
        self._report = b""
        self._killed = False
        self._next: float | None = None
        out, to_out = os.pipe()
        err, to_err = os.pipe()
        os.set_blocking(out, False)
        os.set_blocking(err, False)
        watch = forms(limits.watch) if limits.watch else ()
        self.streams: tuple[tuple[int, BoundedOutput], ...] = (
            (out, BoundedOutput(limits.output_bytes, watch=watch)),
            (err, BoundedOutput(limits.output_bytes, watch=watch)),
        )
        self.ended_streams: set[int] = set()
        """The pipes that have been read to their end."""
        self._started = self._last_output = time.monotonic()
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
        """Close the pipes and release the supervisor. If the program still runs, its supervisor kills it."""
        for pipe, _ in self.streams:
            os.close(pipe)
        self.streams = ()  # timers refer to this object for a while, and there may be much output
        self._starter.release(self.control, clean=self._is_clean())

    def _is_clean(self) -> bool:
        """Whether the program exited by itself and left nothing running."""
        return self._next is None and self._report.startswith(b"end") and self._report.split()[2] == b"0"

    def read_output(self, pipe: int, output: BoundedOutput) -> bool:
        """Read what was printed; False at the end of the stream."""
        try:
            data = os.read(pipe, _CHUNK)
        except BlockingIOError:
            return True
        if data:
            self._last_output = time.monotonic()
            output.add(data)
        else:
            self.ended_streams.add(pipe)
        return bool(data)

    def read_report(self) -> bool:
        """Read from the supervisor; whether the report is complete."""
        try:
            data = self._starter.receive(self.control)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if data is None:
            return False
        self._report += data
        self.over = not data or self._report.endswith(b"\n")
        return self.over

    def terminate(self) -> None:
        """Stop the program because it was cancelled: kill it, unless its limits give it time to exit (`farewell`)."""
        if not self._limits.farewell:
            self.kill()
        elif self._next is None:
            self._send(TERM)
            self._next = time.monotonic() + self._limits.farewell

    def kill(self) -> None:
        """Kill all its processes."""
        self._killed = True
        self._next = time.monotonic() + _KILL_TIMEOUT
        self._send(KILL)

    def enforce_limits(self, last_activity: Callable[[], float]) -> float:
        """Enforce the time limits; returns when to call again. `last_activity` is called until a limit is reached."""
        now = time.monotonic()
        if self.over:
            return now + _KILL_TIMEOUT
        if self._next is None:
            return self._watch(now, last_activity)
        if now < self._next:
            return self._next
        if self._killed:
            raise WorldError(
                VoidCause.SANDBOX, f"the program's processes were killed, but did not exit within {_KILL_TIMEOUT:g} s"
            )
        self.kill()
        return now + _KILL_TIMEOUT

    def _watch(self, now: float, last_activity: Callable[[], float]) -> float:
        if now < (due := self._due(last_activity)):
            return due
        # On a busy machine this may run late. What the program did in time is still in the socket and the pipes.
        if self._has_reported():
            return now
        for pipe, output in self.streams:
            self.read_output(pipe, output)
        if now < (due := self._due(last_activity)):
            return due
        self._ended_by = "wall" if now >= self._deadline() else "idle"
        self._send(TERM)
        self._next = now + self._limits.grace
        return self._next

    def _due(self, last_activity: Callable[[], float]) -> float:
        """When the next limit is reached, as far as is known now. `last_activity` is always called: from its last call,
        callers learn whether the provider was silent.
        """
        active = max(self._last_output, last_activity())
        due = self._deadline()
        return due if self._limits.idle is None else min(due, active + self._limits.idle)

    def _deadline(self) -> float:
        return self._started + self._limits.wall + self._limits.paused()

    def _has_reported(self) -> bool:
        """Whether there is unread data from the supervisor."""
        poller = select.poll()
        poller.register(self.control, select.POLLIN)
        return bool(poller.poll(0))

    def _send(self, command: bytes) -> None:
        try:
            self.control.send(command)
        except OSError:
            return  # it has exited; `read_report` will see that

    def end(self) -> ProcessEnd:
        """How it ended; raises WorldError when it could not be started, or when its supervisor died."""
        seconds = time.monotonic() - self._started
        (_, out), (_, err) = self.streams
        for pipe, output in self.streams:
            if pipe not in self.ended_streams:
                self._drain(pipe, output)
        word, *numbers = self._report.split() or [b""]
        if word == b"fail" and numbers[0] == b"bwrap":
            raise _bwrap_error(err.output().text, self._name)
        if word == b"fail" and numbers[0] == b"setup":
            why = self._report.removeprefix(b"fail setup ").decode().strip()
            raise WorldError(VoidCause.SANDBOX, f"the sandbox can't be set up: {why}")
        if word == b"fail":
            raise _start_error(numbers[0] == b"enter", int(numbers[1]), self._name)
        if word != b"end":
            raise WorldError(VoidCause.SANDBOX, "the supervisor was killed; all processes of the attempt were killed")
        status, leftovers, cpu, peak, *more = numbers
        asked = [word.removeprefix(_ASKED).decode() for word in more if word.startswith(_ASKED)]
        code = os.waitstatus_to_exitcode(int(status))
        return ProcessEnd(
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            ended_by="memory" if b"memory" in more else self._ended_by,
            stdout=out.output(),
            stderr=err.output(),
            seconds=round(seconds, 6),
            leftovers=int(leftovers),
            cpu_seconds=float(cpu),
            peak_bytes=int(peak),
            asked_hosts=tuple(name for names in asked for name in names.split(",")),
        )

    def _drain(self, pipe: int, output: BoundedOutput) -> None:
        """Read what is in the pipe, without waiting for its end: another process may hold it open."""
        for _ in range(64):
            try:
                data = os.read(pipe, _CHUNK)
            except BlockingIOError:
                return
            if not data:
                return
            output.add(data)


def _bwrap_error(stderr: str, name: str) -> WorldError:
    """Why bubblewrap did not start the program."""
    last = one_line(stderr.strip().rpartition("\n")[2].removeprefix("bwrap: "), width=300)
    program, _, why = last.removeprefix("execvp ").rpartition(": ")
    if last.startswith("execvp ") and why in _STRERRORS:
        return _start_error(False, _STRERRORS[why], program or name)
    return WorldError(
        VoidCause.SANDBOX, f"bubblewrap could not start {one_line(name, width=200)}: {last or 'no message'}"
    )


def _start_error(entering: bool, number: int, name: str) -> WorldError:
    program = one_line(name, width=200) or "(no program)"
    if entering:
        return WorldError(VoidCause.SANDBOX, f"can't change to the workspace: {os.strerror(number)}")
    if number == errno.E2BIG:
        return WorldError(
            VoidCause.HARNESS,
            f"{program}: its arguments and environment are too long for this system; pass long prompts in a file",
        )
    if number not in _MISSING:
        return WorldError(VoidCause.SANDBOX, f"can't start {program}: {os.strerror(number)}")
    why = {
        errno.ENOENT: "not found",
        errno.EACCES: "is not executable",
        errno.ENOEXEC: "is not a program (a script needs a first line like #!/bin/sh)",
    }.get(number, os.strerror(number))
    return WorldError(VoidCause.MISSING, f"{program}: {why}; install it, or correct the agent's command")
