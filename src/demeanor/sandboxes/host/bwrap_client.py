"""A room as Demeanor has it: the way to its warden, the socket that listens in it, and its disk. See warden.py."""

from __future__ import annotations

import asyncio
import contextlib
import marshal
import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from demeanor.core.errors import WorldError
from demeanor.core.text import one_line
from demeanor.core.verdict import VoidCause
from demeanor.sandboxes.host.launcher import Launcher, hand_over
from demeanor.sandboxes.supervisor.supervisor import LENGTH

_PATIENCE = 30.0
_WORDS = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class BwrapSpec:
    """What kind of room it is to be."""

    bwrap: str
    """Where bubblewrap lies."""

    filter: bytes
    """The system calls that are refused."""

    lower: str
    """The folder that the workspace starts from; it is only read."""

    network: Literal["gateway", "none", "host"]
    """What can be reached from in there."""

    port: int
    """Where the room's own socket listens."""

    uid: int | None
    """Whom the warden becomes where it is root; None where it is an ordinary user."""

    disk: int
    """Bytes that everything written in there may take."""

    inodes: int
    """Files and folders that may be made in there."""

    memory: int
    """Bytes of memory that everything in there may hold."""

    rlimits: Mapping[str, int]
    """Limits of the kernel, by name."""

    overlay: bool = True
    """Whether to try an overlay before copying."""


def message(order: Mapping[str, object]) -> bytes:
    """An order as bytes."""
    body = marshal.dumps(dict(order))
    return LENGTH.pack(len(body)) + body


def launch_message(
    argv: Sequence[str], arguments: Sequence[str], *, reads: Sequence[str], home: Mapping[str, bytes]
) -> bytes:
    """A launch as bytes; raises WorldError for what no program can be given."""
    check_words((*argv, *arguments))
    return message({"argv": list(argv), "arguments": list(arguments), "reads": list(reads), "home": dict(home)})


def check_words(words: Iterable[str]) -> None:
    """Raise WorldError for what no program can be given."""
    for word in words:
        if "\0" in word:
            raise WorldError(VoidCause.HARNESS, f"a NUL character in {one_line(word)!r}: no program can be given that")
        try:
            os.fsencode(word)
        except UnicodeEncodeError as error:
            why = f"an argument of the program is no Unicode text: {error.reason}"
            raise WorldError(VoidCause.HARNESS, why) from None


class BwrapClient:
    """One room, and whoever watches over it."""

    def __init__(self, launcher: Launcher, plan: BwrapSpec) -> None:
        self.door: socket.socket | None = None
        """The socket that listens in there."""
        self.disk: int | None = None
        """Its disk, opened; None until the first program is started."""
        self.layered = False
        """Whether the workspace is an overlay."""
        self._control = launcher.warden()
        try:
            hand_over(self._control, message(asdict(plan)))
        except OSError as error:
            raise WorldError(VoidCause.SANDBOX, f"the warden has died before it began ({error})") from None

    async def entered(self) -> None:
        """Wait until the room is there."""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()

        def hear() -> None:
            if not ready.done():
                ready.set_result(None)

        loop.add_reader(self._control, hear)
        try:
            await asyncio.wait_for(ready, _PATIENCE)
        except TimeoutError:
            raise WorldError(VoidCause.SANDBOX, f"the sandbox was not there within {_PATIENCE:g} s") from None
        finally:
            loop.remove_reader(self._control)
        self._take_door()

    def entered_blocking(self) -> None:
        """The same in a worker thread."""
        self._control.settimeout(_PATIENCE)
        self._take_door()

    def _take_door(self) -> None:
        try:
            words, fds, _, _ = socket.recv_fds(self._control, _WORDS, 1)
        except OSError as error:
            words, fds = str(error).encode(), []
        if fds:
            self.door = socket.socket(fileno=fds[0])
        if words != b"ready\n":
            why = (
                one_line(words.removeprefix(b"fail ").removeprefix(b"room ").decode("utf-8", "backslashreplace"))
                or "its warden died"
            )
            raise WorldError(VoidCause.SANDBOX, f"no sandbox can be made here: {why}")

    def launch(self, launch: bytes, fds: tuple[int, int]) -> socket.socket:
        """Hand a launch to the warden; the socket to control it by."""
        try:
            return hand_over(self._control, launch, fds)
        except OSError as error:
            raise WorldError(VoidCause.SANDBOX, f"the warden has died ({error})") from None

    def give_back(self, control: socket.socket, *, in_peace: bool) -> None:
        """A room is left as a whole."""

    def hear(self, control: socket.socket) -> bytes | None:
        """What the warden says of its program; None for its word that the room is furnished, with the disk."""
        words, fds, _, _ = socket.recv_fds(control, _WORDS, 1)
        if not fds:
            return words
        self.disk = fds[0]
        line, _, rest = words.partition(b"\n")
        self.layered = line == b"furnished overlay"
        return rest or None

    def close(self) -> None:
        """Leave the room: whoever is still in there is killed. The disk goes with the last who has it open."""
        self._control.close()
        if self.door is not None:
            with contextlib.suppress(OSError):  # the gateway may have closed it
                self.door.close()
        if self.disk is not None:
            os.close(self.disk)
            self.disk = None
