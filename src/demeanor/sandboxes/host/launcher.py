"""Starts the fork server of a run, and asks it for supervisors."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

from demeanor.core.values.errors import WorldError
from demeanor.core.values.verdict import VoidCause
from demeanor.sandboxes.host.messages import SEND_TIMEOUT, send
from demeanor.sandboxes.supervisor.cgroup import CgroupParent
from demeanor.sandboxes.supervisor.supervisor import BUBBLEWRAP, BUBBLEWRAP_OF_ROOT, LANDLOCK, PERSISTENT, PLAIN

_PROGRAM = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from demeanor.sandboxes.supervisor.forkserver import main
main()
"""
_PACKAGES = str(Path(__file__).parents[3])
_LIBRARY_PATHS = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


class Launcher:
    """The client of the fork server: one small process per run, from which every supervisor is forked."""

    def __init__(self, folder: Path, cgroup_parent: CgroupParent | None = None) -> None:
        self.folder = folder
        """The fork server removes this folder when Demeanor has gone."""
        self._cgroup_parent = cgroup_parent
        self._lock = threading.Lock()
        self._forkserver: subprocess.Popen[bytes] | None = None
        self._requests: socket.socket | None = None
        self._idle: list[socket.socket] = []
        self._warm: dict[bytes, socket.socket] = {}

    def start(self) -> None:
        """Start the fork server if it is not running. It does its imports while we go on."""
        with self._lock:
            if self._forkserver is not None:
                return
            ours, theirs = socket.socketpair()
            with theirs:
                ours.setblocking(False)
                program = (sys.executable, "-I", "-S", "-c", _PROGRAM, _PACKAGES)
                cgroup = self._cgroup_parent.to_args() if self._cgroup_parent else ()
                try:
                    self._forkserver = subprocess.Popen(
                        [*program, str(theirs.fileno()), str(self.folder), *cgroup],
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        cwd="/",
                        env={name: os.environ[name] for name in _LIBRARY_PATHS if name in os.environ},
                        pass_fds=[theirs.fileno()],
                        start_new_session=True,
                    )
                except OSError as error:
                    ours.close()
                    raise WorldError(VoidCause.SANDBOX, f"the fork server can't be started: {error}") from None
            self._requests = ours

    def launch(self, message: bytes, fds: tuple[int, int]) -> socket.socket:
        """Send a launch to an idle plain supervisor, or to a new one; returns its control socket."""
        self._ensure_running()
        while self._idle:
            with contextlib.suppress(IndexError, OSError):  # another thread took it; it was killed
                return send(self._idle.pop(), message, fds)
        control = self._new_supervisor(PLAIN)
        try:
            return send(control, message, fds)
        except OSError as error:
            raise WorldError(VoidCause.SANDBOX, f"the supervisor exited during start-up ({error})") from None

    def bwrap_supervisor(self, *, as_root: bool) -> socket.socket:
        """The control socket of a new supervisor of the level bubblewrap: one of root, or one of an ordinary user."""
        return self._warm_supervisor(BUBBLEWRAP_OF_ROOT if as_root else BUBBLEWRAP)

    def landlock_supervisor(self) -> socket.socket:
        """The control socket of a new supervisor of the level landlock."""
        return self._warm_supervisor(LANDLOCK)

    def persistent_supervisor(self) -> socket.socket:
        """The control socket of a new supervisor of a persistent sandbox."""
        self._ensure_running()
        return self._new_supervisor(PERSISTENT)

    def _warm_supervisor(self, kind: bytes) -> socket.socket:
        """A supervisor of that kind. Entering a control group takes a while, so the next one starts with that now."""
        self._ensure_running()
        warm = self._warm.pop(kind, None)
        if self._cgroup_parent is not None:
            self._warm[kind] = self._new_supervisor(kind)
        return warm or self._new_supervisor(kind)

    def receive(self, control: socket.socket) -> bytes | None:
        """Receive from a supervisor; empty when it has exited."""
        return control.recv(256)

    def release(self, control: socket.socket, *, clean: bool) -> None:
        """Reuse a supervisor whose program exited by itself and left nothing running; hang up on any other."""
        if self._forkserver is None or not clean:
            control.close()
        else:
            self._idle.append(control)

    def _ensure_running(self) -> None:
        """Start the fork server if there is none. Report its death once: processes left to it may still be running."""
        forkserver = self._forkserver
        if forkserver is not None and forkserver.poll() is not None:
            self.stop()
            problem = f"the fork server exited unexpectedly (exit code {forkserver.returncode})"
            raise WorldError(VoidCause.SANDBOX, problem)
        self.start()

    def _new_supervisor(self, kind: bytes) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                if self._requests is None:
                    raise BrokenPipeError
                socket.send_fds(self._requests, [kind], [theirs.fileno()])
            except OSError as error:
                ours.close()
                raise WorldError(VoidCause.SANDBOX, f"the fork server does not answer ({error})") from None
        return ours

    def stop(self) -> None:
        """Hang up: the fork server exits after its last supervisor, and removes what is left of the folder."""
        with self._lock:
            forkserver, requests = self._forkserver, self._requests
            self._forkserver = self._requests = None
        while self._idle:
            self._idle.pop().close()
        while self._warm:
            self._warm.popitem()[1].close()
        if forkserver is None or requests is None:
            return
        with requests, contextlib.suppress(OSError):
            requests.settimeout(SEND_TIMEOUT)
            requests.shutdown(socket.SHUT_WR)
            requests.recv(1)  # its end of the socket closes when it exits
        with contextlib.suppress(subprocess.TimeoutExpired):
            forkserver.wait(0.5)
        forkserver.kill()
        forkserver.wait()
