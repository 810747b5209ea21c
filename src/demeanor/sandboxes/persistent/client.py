"""A lodge as Demeanor has it: walls behind which programs come and go while a whole task lasts. See keeper.py."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import tarfile
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO

from demeanor.core.bounded_output import BoundedOutput
from demeanor.core.errors import WorldError
from demeanor.core.text import one_line
from demeanor.core.verdict import VoidCause
from demeanor.sandboxes.host.bwrap_client import check_words, message
from demeanor.sandboxes.host.launcher import Launcher, hand_over
from demeanor.sandboxes.host.runtime import in_thread
from demeanor.sandboxes.persistent.channel import OutputReader, receive
from demeanor.sandboxes.persistent.command import ExecRequest, ExecResult
from demeanor.sandboxes.persistent.spec import PersistentSpec
from demeanor.sandboxes.supervisor.archive import pack, pack_file, unpack_file, unpack_hostile

_PATIENCE = 60.0
_WORDS = 4096
_DEATH_TAKES = 10.0
_CLOSED = "closed"


class PersistentSandbox:
    """One lodge, and whoever keeps it."""

    def __init__(self, launcher: Launcher, plan: PersistentSpec) -> None:
        self.door: socket.socket | None = None
        """The socket that listens in there."""
        self.users = ""
        """Whom it knows: `many`, or `one`."""
        self._plan = plan
        self._control = launcher.keeper()
        self._why_gone = ""
        try:
            hand_over(self._control, message(asdict(plan)))
        except OSError as error:
            raise WorldError(VoidCause.SANDBOX, f"the keeper has died before it began ({error})") from None

    async def entered(self) -> None:
        """Wait until the lodge is there."""
        try:
            words, fds = await receive(self._control, _PATIENCE)
        except TimeoutError:
            raise WorldError(VoidCause.SANDBOX, f"the sandbox was not there within {_PATIENCE:g} s") from None
        if fds:
            self.door = socket.socket(fileno=fds[0])
        word, _, rest = words.partition(b" ")
        if word != b"ready":
            why = one_line(rest.decode("utf-8", "backslashreplace")) or "its keeper died"
            raise WorldError(VoidCause.SANDBOX, f"no sandbox can be made here: {why}")
        self.users = rest.decode().strip()

    async def run(
        self,
        request: ExecRequest,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - the clock starts when the program does
        output_bytes: int = 2**25,
    ) -> ExecResult:
        """Run a program to its end. Where this is cancelled, or takes too long, everything that it started is ended."""
        check_words((*(word for argv in request.argvs for word in argv), request.cwd, request.user))
        check_words(f"{name}={value}" for name, value in request.env.items())
        order = {"do": "run", "argvs": [list(argv) for argv in request.argvs], "env": dict(request.env)}
        line = self._send({**order, "cwd": request.cwd, "user": request.user})
        with line:
            fds = await self._opened(line)
            kept = (BoundedOutput(output_bytes), BoundedOutput(output_bytes))
            hearing = OutputReader(fds, kept)
            try:
                words, timed_out = await self._wait(line, timeout)
                hearing.drain()
            finally:
                hearing.close()
        if words and not words.startswith(b"end "):
            raise await self._lost(words)
        if not words:  # it has killed everybody in there, also whoever ran it
            words = b"end %d 0\n" % signal.SIGKILL
        await self._check(int(words.split()[2]))
        code = os.waitstatus_to_exitcode(int(words.split()[1]))
        return ExecResult(
            code=code if code >= 0 else 128 - code,
            stdout=kept[0].output().text,
            stderr=kept[1].output().text,
            timed_out=timed_out,
        )

    async def _wait(self, line: socket.socket, timeout: float | None) -> tuple[bytes, bool]:  # noqa: ASYNC109
        """The last word of an errand, and whether it took too long."""
        try:
            return (await receive(line, timeout))[0], False
        except TimeoutError:
            line.shutdown(socket.SHUT_WR)
            with contextlib.suppress(TimeoutError):
                return (await receive(line, _DEATH_TAKES))[0], True
            raise WorldError(VoidCause.SANDBOX, f"its processes did not die within {_DEATH_TAKES:g} s") from None
        except asyncio.CancelledError:
            line.shutdown(socket.SHUT_WR)
            with contextlib.suppress(TimeoutError):
                await asyncio.shield(receive(line, _DEATH_TAKES))
            raise

    async def put_folder(self, source: Path, target: str, *, owner: str = "0:0", mode: int | None = None) -> None:
        """Copy a folder's content into a folder in there; `owner` is a user, or `user:group`."""
        order = {"do": "unpack", "path": target, "owner": owner, "mode": mode}
        await self._move(order, "wb", lambda stream: pack(str(source), stream))

    async def put_file(self, source: Path, target: str, *, owner: str = "0:0", mode: int | None = None) -> None:
        """Copy a file to a path in there."""
        folder, _, name = target.rpartition("/")
        order = {"do": "unpack", "path": folder or "/", "owner": owner, "mode": mode}
        await self._move(order, "wb", lambda stream: pack_file(str(source), name, stream))

    async def fetch_folder(
        self, source: str, target: Path, *, wanted: Callable[[str, bool], bool] = lambda name, folder: True
    ) -> list[str]:
        """Copy a folder's content out of there; what was left out, with the reason."""
        left_out: list[str] = []
        order = {"do": "pack", "path": source, "most": self._plan.disk, "files": self._plan.inodes}

        def take(stream: IO[bytes]) -> None:
            left_out.extend(unpack_hostile(stream, str(target), most=self._plan.disk, wanted=wanted))

        return [*await self._move(order, "rb", take), *left_out]

    async def fetch_file(self, source: str, target: Path) -> None:
        """Copy a file out of there."""
        order = {"do": "pack file", "path": source, "most": self._plan.disk}
        await self._move(order, "rb", lambda stream: unpack_file(stream, str(target), most=self._plan.disk))

    async def _move(self, order: Mapping[str, object], mode: str, work: Callable[[IO[bytes]], object]) -> list[str]:
        """Send a stream there or take one from there; what the porter says was left out."""
        line = self._send(order)
        with line:
            fds = await self._opened(line)
            os.set_blocking(fds[0], True)
            trouble: Exception | None = None
            with contextlib.suppress(BrokenPipeError), os.fdopen(fds[0], mode) as stream:
                try:
                    await in_thread(work, stream)
                except (OSError, ValueError, tarfile.TarError) as error:
                    trouble = error
            words, _ = await receive(line, _PATIENCE)
        if trouble and mode == "wb" and not isinstance(trouble, BrokenPipeError):
            raise trouble
        if not words.startswith(b"end "):
            raise await self._lost(words)
        if trouble:
            raise trouble
        return [piece.decode("utf-8", "backslashreplace") for piece in words.rstrip(b"\n").split(b"\0")[1:]]

    def _send(self, order: Mapping[str, object]) -> socket.socket:
        """Send a porter; the line to it."""
        if self._gone():
            raise self._error(b"")
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                hand_over(self._control, message(order), (theirs.fileno(),))
            except OSError as error:
                ours.close()
                self._why_gone = self._why_gone or "gone"
                raise self._error(str(error).encode()) from None
        ours.setblocking(False)
        return ours

    async def _opened(self, line: socket.socket) -> list[int]:
        """The ends of the pipes that a porter has made."""
        words, fds = await receive(line, _PATIENCE)
        if not fds:
            raise await self._lost(words)
        return fds

    async def _check(self, peak: int = 0) -> None:
        """Have the keeper check all limits now, given what one program held at most; raises WorldError for a breach."""
        with self._send({"do": "check", "peak": peak}) as line:
            try:
                words, _ = await receive(line, _PATIENCE)
            except TimeoutError:
                raise WorldError(VoidCause.SANDBOX, f"the keeper did not answer within {_PATIENCE:g} s") from None
        if not words:
            raise self._error(b"")

    def _gone(self) -> str:
        """Why the lodge is no more; empty as long as it is there."""
        try:
            said = self._control.recv(_WORDS).decode().strip()
        except BlockingIOError:
            return self._why_gone
        except OSError:
            said = ""
        self._why_gone = self._why_gone or said or "gone"
        return self._why_gone

    async def _lost(self, words: bytes) -> WorldError:
        """Why an errand has no end of its own: a breach of limits, or what its porter said."""
        try:
            await self._check()
        except WorldError as error:
            return error
        return self._error(words)

    def _error(self, words: bytes) -> WorldError:
        """Why the lodge is no more, or why a porter could not do its errand."""
        gone = self._gone()
        if gone.startswith("memory "):
            held = gone.removeprefix("memory ")
            why = f"everything in the sandbox was ended: it held {held} bytes of memory, more than {self._plan.memory}"
        elif gone == _CLOSED:
            why = "the sandbox was closed while a program was running in it"
        elif gone:
            why = "the sandbox is gone: its first process was ended"
        else:
            why = one_line(words.removeprefix(b"fail ").decode("utf-8", "backslashreplace"))
        return WorldError(VoidCause.SANDBOX, why or "whoever ran the program was killed in the sandbox")

    async def close(self) -> None:
        """Leave: whoever is still in there is killed. When this returns, they are dead."""
        if self.door is not None:
            with contextlib.suppress(OSError):
                self.door.close()
        if self._control.fileno() < 0:
            return  # its keeper has gone, and with it everybody
        # A program that ends now makes its run() check the limits. That must not send on the half-closed socket: a
        # failed send closes it, and the wait below would never see its end.
        self._why_gone = self._why_gone or _CLOSED
        with self._control:
            with contextlib.suppress(OSError):
                self._control.shutdown(socket.SHUT_WR)
            with contextlib.suppress(TimeoutError):
                while (await receive(self._control, _DEATH_TAKES))[0]:
                    pass
                return
        raise WorldError(VoidCause.SANDBOX, f"the sandbox's processes did not die within {_DEATH_TAKES:g} s")
