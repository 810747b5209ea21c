"""The client of one persistent sandbox; supervisor/persistent.py is the other side."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO

from demeanor.core.text.bounded_output import BoundedOutput
from demeanor.core.text.wording import one_line, shortened_to_end
from demeanor.core.values.errors import WorldError
from demeanor.core.values.verdict import VoidCause
from demeanor.sandboxes.host.launcher import Launcher
from demeanor.sandboxes.host.messages import check_environment, check_words, encode, send
from demeanor.sandboxes.host.runtime import in_thread
from demeanor.sandboxes.persistent.spec import ExecRequest, ExecResult, PersistentSpec
from demeanor.sandboxes.supervisor.archive import pack, pack_file, unpack_file, unpack_untrusted

_TIMEOUT = 60.0
_KILL_TIMEOUT = 10.0
_MESSAGE = 4096
_PIECE = 65536
"""Bytes that are read at once: of what the supervisor says, and of what a program sends."""
_WIDTH = 200
_CLOSED = "closed"


class PersistentSandbox:
    """One persistent sandbox and its supervisor."""

    def __init__(self, launcher: Launcher, spec: PersistentSpec) -> None:
        self.listener: socket.socket | None = None
        """The socket that listens in the sandbox."""
        self.users = ""
        """Which users exist in it: `many`, or `one`."""
        self._spec = spec
        self._control = launcher.persistent_supervisor()
        self._ended = ""
        try:
            send(self._control, encode(asdict(spec)))
        except OSError as error:
            raise WorldError(VoidCause.SANDBOX, f"the supervisor exited during start-up ({error})") from None

    @property
    def disk(self) -> int:
        """How many bytes can be written in it."""
        return self._spec.disk

    async def wait_ready(self) -> None:
        """Wait until the sandbox is set up."""
        try:
            answer, fds = await receive(self._control, _TIMEOUT)
        except TimeoutError:
            raise WorldError(VoidCause.SANDBOX, f"the sandbox was not ready within {_TIMEOUT:g} s") from None
        if fds:
            self.listener = socket.socket(fileno=fds[0])
        word, _, rest = answer.partition(b" ")
        if word != b"ready":
            why = one_line(rest.decode("utf-8", "backslashreplace")) or "the supervisor exited"
            raise WorldError(VoidCause.SANDBOX, f"the sandbox can't be set up: {why}")
        self.users = rest.decode().strip()

    async def run(
        self,
        request: ExecRequest,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the clock starts when the program does
        output_bytes: int = 2**25,
    ) -> ExecResult:
        """Run a program to its end. When cancelled or timed out, the program and all its descendants are killed."""
        check_words((*(word for argv in request.argvs for word in argv), request.cwd, request.user))
        check_environment(request.env)
        action = {"action": "run", "argvs": [list(argv) for argv in request.argvs], "env": dict(request.env)}
        channel = self._request({**action, "cwd": request.cwd, "user": request.user})
        with channel:
            fds = await self._receive_pipes(channel)
            outputs = (BoundedOutput(output_bytes), BoundedOutput(output_bytes))
            reader = OutputReader(fds, outputs)
            try:
                result, timed_out = await self._wait(channel, timeout)
                reader.drain()
            finally:
                reader.close()
        if result and not result.startswith(b"end "):
            raise await self._failure(result)
        if not result:  # the program killed all processes in the sandbox, also the one that ran it
            result = b"end %d 0\n" % signal.SIGKILL
        await self._check_limits(int(result.split()[2]))
        code = os.waitstatus_to_exitcode(int(result.split()[1]))
        return ExecResult(
            code=code if code >= 0 else 128 - code,
            stdout=outputs[0].output().text,
            stderr=outputs[1].output().text,
            timed_out=timed_out,
        )

    async def _wait(self, channel: socket.socket, timeout: float | None) -> tuple[bytes, bool]:  # noqa: ASYNC109
        """The result of a program, and whether it timed out."""
        try:
            return (await receive(channel, timeout))[0], False
        except TimeoutError:
            channel.shutdown(socket.SHUT_WR)
            with contextlib.suppress(TimeoutError):
                return (await receive(channel, _KILL_TIMEOUT))[0], True
            problem = f"the program's processes were killed, but did not exit within {_KILL_TIMEOUT:g} s"
            raise WorldError(VoidCause.SANDBOX, problem) from None
        except asyncio.CancelledError:
            channel.shutdown(socket.SHUT_WR)
            with contextlib.suppress(TimeoutError):
                await asyncio.shield(receive(channel, _KILL_TIMEOUT))
            raise

    async def put_folder(self, source: Path, target: str, *, owner: str = "0:0", mode: int | None = None) -> None:
        """Copy the content of a folder to a folder in the sandbox; `owner` is `user` or `user:group`."""
        request = {"action": "unpack", "path": target, "owner": owner, "mode": mode}
        await self._transfer(request, "wb", lambda stream: pack(str(source), stream))

    async def put_file(self, source: Path, target: str, *, owner: str = "0:0", mode: int | None = None) -> None:
        """Copy a file to a path in the sandbox."""
        folder, _, name = target.rpartition("/")
        request = {"action": "unpack", "path": folder or "/", "owner": owner, "mode": mode}
        await self._transfer(request, "wb", lambda stream: pack_file(str(source), name, stream))

    async def fetch_folder(
        self, source: str, target: Path, *, accepts: Callable[[str, bool], bool] = lambda name, folder: True
    ) -> list[str]:
        """Copy the content of a folder out of the sandbox; returns what was skipped, with the reasons."""
        skipped: list[str] = []
        disk = self._spec.disk
        request = {"action": "pack", "path": source, "max_bytes": disk, "max_files": self._spec.inodes}

        def extract(stream: IO[bytes]) -> None:
            skipped.extend(unpack_untrusted(stream, str(target), max_bytes=disk, accepts=accepts))

        return [shortened_to_end(line, _WIDTH) for line in (*await self._transfer(request, "rb", extract), *skipped)]

    async def fetch_file(self, source: str, target: Path) -> None:
        """Copy a file out of the sandbox."""
        disk = self._spec.disk
        request = {"action": "pack file", "path": source, "max_bytes": disk}
        await self._transfer(request, "rb", lambda stream: unpack_file(stream, str(target), max_bytes=disk))

    async def export_layer(self, target: Path) -> None:
        """Write what was changed in the given root file system to a file, as a layer of an image."""

        def write(stream: IO[bytes]) -> None:
            with target.open("wb") as file:
                shutil.copyfileobj(stream, file, 2**18)

        await self._transfer({"action": "export layer"}, "rb", write)

    async def _transfer(
        self, request: Mapping[str, object], mode: str, work: Callable[[IO[bytes]], object]
    ) -> list[str]:
        """Send or receive a stream; returns what the exec process has skipped."""
        channel = self._request(request)
        with channel:
            fds = await self._receive_pipes(channel)
            os.set_blocking(fds[0], True)
            problem: Exception | None = None
            with contextlib.suppress(BrokenPipeError), os.fdopen(fds[0], mode) as stream:
                try:
                    await in_thread(work, stream)
                except (OSError, ValueError, tarfile.TarError) as error:
                    problem = error
            result, _ = await receive(channel, _TIMEOUT)
        if problem and mode == "wb" and not isinstance(problem, BrokenPipeError):
            raise problem
        if not result.startswith(b"end "):
            raise await self._failure(result)
        if problem:
            raise problem
        return [piece.decode("utf-8", "backslashreplace") for piece in result.rstrip(b"\n").split(b"\0")[1:]]

    def _request(self, request: Mapping[str, object]) -> socket.socket:
        """Send a request; returns the socket to the exec process that handles it."""
        if self._why_ended():
            raise self._error(b"")
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                send(self._control, encode(request), (theirs.fileno(),))
            except OSError as error:
                ours.close()
                self._ended = self._ended or "exited"
                raise self._error(str(error).encode()) from None
        ours.setblocking(False)
        return ours

    async def _receive_pipes(self, channel: socket.socket) -> list[int]:
        """Our ends of the pipes that the exec process has created."""
        answer, fds = await receive(channel, _TIMEOUT)
        if not fds:
            raise await self._failure(answer)
        return fds

    async def _check_limits(self, peak: int = 0) -> None:
        """Ask the supervisor to check all limits, given the peak of one program; raises WorldError for a breach."""
        with self._request({"action": "check", "peak": peak}) as channel:
            try:
                answer, _ = await receive(channel, _TIMEOUT)
            except TimeoutError:
                raise WorldError(VoidCause.SANDBOX, f"the supervisor did not answer within {_TIMEOUT:g} s") from None
        if not answer:
            raise self._error(b"")

    def _why_ended(self) -> str:
        """Why the sandbox has ended; empty while it is running."""
        try:
            message = self._control.recv(_MESSAGE).decode().strip()
        except BlockingIOError:
            return self._ended
        except OSError:
            message = ""
        self._ended = self._ended or message or "exited"
        return self._ended

    async def _failure(self, result: bytes) -> WorldError:
        """Why a request has no result: a breach of limits, or the error of the exec process."""
        try:
            await self._check_limits()
        except WorldError as error:
            return error
        return self._error(result)

    def _error(self, result: bytes) -> WorldError:
        """Why the sandbox has ended, or the error of the exec process."""
        ended = self._why_ended()
        if ended.startswith("memory "):
            used = ended.removeprefix("memory ")
            limit = self._spec.memory
            why = f"all processes in the sandbox were killed: they used {used} bytes of memory, more than {limit}"
        elif ended == _CLOSED:
            why = "the sandbox was closed while a program was running in it"
        elif ended:
            why = "the sandbox has ended: its init was killed"
        else:
            why = one_line(result.removeprefix(b"fail ").decode("utf-8", "backslashreplace"))
        return WorldError(VoidCause.SANDBOX, why or "the exec process was killed in the sandbox")

    async def close(self) -> None:
        """Kill all processes in the sandbox; when this returns, they are gone."""
        if self.listener is not None:
            with contextlib.suppress(OSError):
                self.listener.close()
        if self._control.fileno() < 0:
            return  # the supervisor has exited, and all processes with it
        # A program that ends now makes its run() check the limits. That must not send on the half-closed socket: a
        # failed send closes it, and the wait below would never see its end.
        self._ended = self._ended or _CLOSED
        with self._control:
            with contextlib.suppress(OSError):
                self._control.shutdown(socket.SHUT_WR)
            with contextlib.suppress(TimeoutError):
                while (await receive(self._control, _KILL_TIMEOUT))[0]:
                    pass
                return
        raise WorldError(VoidCause.SANDBOX, f"the sandbox's processes did not exit within {_KILL_TIMEOUT:g} s")


async def receive(channel: socket.socket, timeout: float | None) -> tuple[bytes, list[int]]:  # noqa: ASYNC109 - one wait
    """Receive the next message with its file descriptors; empty when the other end has closed the socket."""
    loop = asyncio.get_running_loop()
    ready: asyncio.Future[None] = loop.create_future()

    def on_readable() -> None:
        if not ready.done():
            ready.set_result(None)

    loop.add_reader(channel, on_readable)
    try:
        await asyncio.wait_for(ready, timeout)
    except TimeoutError:
        if not ready.done() or ready.cancelled():  # both may happen at once; a message in time counts
            raise
    finally:
        loop.remove_reader(channel)
    try:
        message, fds, _, _ = socket.recv_fds(channel, _PIECE, 2)
    except OSError:
        return b"", []
    for fd in fds:
        os.set_inheritable(fd, False)
    return message, fds


class OutputReader:
    """Reads the output of a program while it runs."""

    def __init__(self, pipes: list[int], outputs: tuple[BoundedOutput, BoundedOutput]) -> None:
        self._loop = asyncio.get_running_loop()
        self._outputs = dict(zip(pipes, outputs, strict=True))
        for pipe in pipes:
            os.set_blocking(pipe, False)
            self._loop.add_reader(pipe, self._read, pipe)

    def _read(self, pipe: int) -> bool:
        """Read what is available; whether there may be more."""
        try:
            data = os.read(pipe, _PIECE)
        except BlockingIOError:
            return False
        if not data:
            self._loop.remove_reader(pipe)
            return False
        self._outputs[pipe].add(data)
        return True

    def drain(self) -> None:
        """Read what is in the pipes, without waiting for their end: processes that live on may print for ever."""
        for pipe in self._outputs:
            for _ in range(64):
                if not self._read(pipe):
                    break

    def close(self) -> None:
        """Close the pipes."""
        for pipe in self._outputs:
            self._loop.remove_reader(pipe)
            os.close(pipe)
