"""The client of a container: the socket to its init (supervisor/container_init.py), its listener, and its disk."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from demeanor.core.text.wording import one_line
from demeanor.core.values.errors import WorldError
from demeanor.core.values.verdict import VoidCause
from demeanor.sandboxes.host.container_cli import ContainerEngine, ContainerSpec, error_text, run_arguments
from demeanor.sandboxes.host.copytree import remove
from demeanor.sandboxes.host.messages import SupervisorClient, encode, send
from demeanor.sandboxes.supervisor.container_init import CODE, SOCKET

_PROGRAM = (
    f"import sys; sys.path.insert(0, {CODE!r}); from demeanor.sandboxes.supervisor.container_init import main; main()"
)
_PYTHON: str = getattr(sys, "_base_executable", sys.executable)
_START_TIMEOUT = 30.0
_ACCEPT_TIMEOUT = 0.5
_SIZE = 4096
_CREDENTIALS = struct.Struct("3i")

INIT_MOUNTS = {f"{CODE}/demeanor/sandboxes": str(Path(__file__).parents[1])}
"""The mounts that the init needs besides its Python: paths of the host by path in the container."""

PYTHON_READS = (sys.base_prefix, _PYTHON)
"""The paths of the Python that runs the init."""


class ContainerClient(SupervisorClient):
    """One container. `start` creates it; when `end` has returned, it is gone."""

    def __init__(self, engine: ContainerEngine, spec: ContainerSpec, folder: str) -> None:
        super().__init__(socket.socket(socket.AF_UNIX))
        self.listener: socket.socket | None = None
        """The socket that listens in the container."""
        self.disk: int | None = None
        """The disk, as an open folder."""
        self.enforced: frozenset[str] = frozenset()
        """The limits that the kernel enforces: `memory`, `processes`."""
        self._engine = engine
        self._spec = replace(spec, mounts={**spec.mounts, SOCKET: f"{folder}/socket"})
        self._folder = folder
        self._init: int | None = None
        self._started = False

    def start(self, init_spec: Mapping[str, object]) -> None:
        """Start the container, and wait until its init has set up the workspace; for a worker thread."""
        args = run_arguments(self._engine, self._spec, (_PYTHON, "-I", "-S", "-c", _PROGRAM))
        path = Path(self._folder, "socket")
        with socket.socket(socket.AF_UNIX) as server:
            _listen_at(server, path)
            self._started = True
            self._engine.check_output(*args, cwd=self._folder)
            control = self._accept(server, args)
        path.unlink()
        self._control.close()
        self._control = control
        self._init = _peer_pidfd(control)
        send(control, encode(init_spec))
        control.settimeout(_START_TIMEOUT)
        try:
            answer, fds, _, _ = socket.recv_fds(control, _SIZE, 2)
        except OSError as error:
            answer, fds = str(error).encode(), []
        control.setblocking(False)
        if fds:
            self.disk = fds[0]
        if len(fds) > 1:
            self.listener = socket.socket(fileno=fds[1])
        word, *enforced = answer.decode("utf-8", "backslashreplace").split() or [""]
        self.enforced = frozenset(enforced)
        if word != "ready" or not fds:
            why = one_line(answer.removeprefix(b"fail ").decode("utf-8", "backslashreplace")) or "its init exited"
            raise WorldError(VoidCause.SANDBOX, f"the container can't be set up: {why}")

    def _accept(self, server: socket.socket, args: list[str]) -> socket.socket:
        """Accept the connection of the init. If the container exits instead, run it again to get its error message."""
        server.settimeout(_ACCEPT_TIMEOUT)
        deadline = time.monotonic() + _START_TIMEOUT
        while time.monotonic() < deadline:
            with contextlib.suppress(TimeoutError):
                return server.accept()[0]
            state = self._engine.run("inspect", "--format", "{{.State.Running}}", self._spec.name)
            if state.stdout.strip() != b"true":
                break
        self._remove()
        attached = [arg for arg in args if arg != "--detach"]
        why = error_text(self._engine.run(*attached, cwd=self._folder))
        raise WorldError(VoidCause.SANDBOX, f"the init of the container did not start: {why}")

    def end(self) -> None:
        """Remove the container and wait until all its processes are gone; for a worker thread. The disk stays open."""
        if not self._started:
            return
        self._started = False
        self._remove()
        super().close()  # if the engine failed, the init exits now
        if not self._is_gone():
            raise WorldError(VoidCause.SANDBOX, f"the container {self._spec.name} did not exit")

    def _is_gone(self) -> bool:
        """Whether the init, and with it all processes, has ended. The engine is asked where the init is not visible."""
        if self._init is None:
            return self._engine.run("inspect", self._spec.name).returncode != 0
        init, self._init = self._init, None
        try:
            return bool(select.select([init], [], [], _START_TIMEOUT)[0])
        finally:
            os.close(init)

    def _remove(self) -> None:
        if self._init is not None:
            with contextlib.suppress(OSError):  # it has ended, or we may not kill it
                signal.pidfd_send_signal(self._init, signal.SIGKILL)
        self._engine.run("rm", "--force", "--volumes", self._spec.name)

    def close(self) -> None:
        """Remove the container, its disk and its folder; for a worker thread."""
        try:
            self.end()
        finally:
            super().close()
            if self.listener is not None:
                with contextlib.suppress(OSError):  # the gateway may have closed it
                    self.listener.close()
            if self.disk is not None:
                os.close(self.disk)
                self.disk = None
            remove(self._folder)


def _listen_at(server: socket.socket, path: Path) -> None:
    """Listen at a path of any length; it is in a folder that only we may enter."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        server.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)
    path.chmod(0o666)
    server.listen(1)


def _peer_pidfd(control: socket.socket) -> int | None:
    """A pidfd of the init, whose pid the kernel knows as the socket's peer; None where it is not visible."""
    pid, _, _ = _CREDENTIALS.unpack(control.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    try:
        return os.pidfd_open(pid) if pid > 0 else None
    except OSError:
        return None
