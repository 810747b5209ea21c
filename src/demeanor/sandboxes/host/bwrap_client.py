"""The client of a bubblewrap sandbox: its supervisor's control socket, its listener, and its disk."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal

from demeanor.core.text.wording import one_line
from demeanor.core.values.errors import WorldError
from demeanor.core.values.verdict import VoidCause
from demeanor.sandboxes.host.launcher import Launcher
from demeanor.sandboxes.host.messages import SupervisorClient, encode

_START_TIMEOUT = 30.0
_SIZE = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class BwrapSpec:
    """What the supervisor needs to know to set up a sandbox."""

    bwrap: str
    """The path of bubblewrap."""

    filter: bytes
    """The seccomp filter."""

    lower: str
    """The folder with the workspace's starting state; it is only read."""

    network: Literal["gateway", "none", "host"]
    """What programs can connect to."""

    port: int
    """The port of the listener."""

    uid: int | None
    """The user that the supervisor switches to when it is root; None when it is an ordinary user."""

    owner: tuple[int, int]
    """The user and the group that we run as."""

    disk: int
    """The size of the disk, in bytes."""

    inodes: int
    """How many files and folders can be created on it."""

    memory: int
    """The memory limit of all processes together, in bytes."""

    rlimits: Mapping[str, int]
    """Resource limits, by name."""

    mark: str = ""
    """The run's folder, by which a later run recognises processes of this one."""

    overlay: bool = True
    """Whether to try an overlay before copying the workspace."""

    def encoded(self) -> bytes:
        """The spec as a message. `asdict` would copy every value."""
        return encode({name: getattr(self, name) for name in _FIELDS})


_FIELDS = tuple(field.name for field in fields(BwrapSpec))


class BwrapClient(SupervisorClient):
    """One sandbox and its supervisor."""

    def __init__(self, launcher: Launcher, spec: BwrapSpec) -> None:
        super().__init__(launcher.bwrap_supervisor(as_root=spec.uid is not None))
        self.listener: socket.socket | None = None
        """The socket that listens in the sandbox."""
        self.disk: int | None = None
        """The disk, as an open folder; None until the first program is started."""
        self.overlay = False
        """Whether the workspace is an overlay."""
        self.launch(spec.encoded(), ())

    async def wait_ready(self) -> None:
        """Wait until the namespaces are set up."""
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()

        def on_readable() -> None:
            if not ready.done():
                ready.set_result(None)

        control = self._control.fileno()  # asyncio makes a text of a socket, which takes a while
        loop.add_reader(control, on_readable)
        try:
            await asyncio.wait_for(ready, _START_TIMEOUT)
        except TimeoutError:
            raise WorldError(VoidCause.SANDBOX, f"the sandbox was not ready within {_START_TIMEOUT:g} s") from None
        finally:
            loop.remove_reader(control)
        self._receive_listener()

    def wait_ready_blocking(self) -> None:
        """The same in a worker thread."""
        self._control.settimeout(_START_TIMEOUT)
        self._receive_listener()

    def _receive_listener(self) -> None:
        try:
            answer, fds, _, _ = socket.recv_fds(self._control, _SIZE, 1)
        except OSError as error:
            answer, fds = str(error).encode(), []
        if fds:
            self.listener = socket.socket(fileno=fds[0])
        if answer != b"ready\n":
            text = answer.removeprefix(b"fail ").removeprefix(b"setup ").decode("utf-8", "backslashreplace")
            why = one_line(text) or "the supervisor exited"
            raise WorldError(VoidCause.SANDBOX, f"the sandbox can't be set up: {why}")

    def receive(self, control: socket.socket) -> bytes | None:
        """Receive from the supervisor. Its message that the workspace is mounted carries the disk, and gives None."""
        data, fds, _, _ = socket.recv_fds(control, _SIZE, 1)
        if not fds:
            return data
        self.disk = fds[0]
        line, _, rest = data.partition(b"\n")
        self.overlay = line == b"mounted overlay"
        return rest or None

    def close(self) -> None:
        """Hang up: the supervisor kills the processes that are left. The disk is gone when it is closed everywhere."""
        super().close()
        if self.listener is not None:
            with contextlib.suppress(OSError):  # the gateway may have closed it
                self.listener.close()
        if self.disk is not None:
            os.close(self.disk)
            self.disk = None
