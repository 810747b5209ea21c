"""The way from Demeanor to its supervisors: see sandboxes/supervisor.py, which runs at the other end."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from demeanor.core.errors import WorldError
from demeanor.core.text import one_line
from demeanor.core.verdict import VoidCause
from demeanor.sandboxes.supervisor.cgroup import Branch
from demeanor.sandboxes.supervisor.supervisor import FENCE, KEEPER, LENGTH, SUPERVISOR, WARDEN

_PROGRAM = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from demeanor.sandboxes.supervisor.forkserver import main
main()
"""
_PACKAGES = str(Path(__file__).parents[3])
_PYTHON_NEEDS = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_PATIENCE = 10.0
_PIECE = 65536


def pack(cwd: str, argv: tuple[str, ...], env: Mapping[str, str]) -> bytes:
    """A launch as bytes; raises WorldError for what no program can be given."""
    words = [cwd, str(len(argv)), *argv, *(f"{name}={value}" for name, value in env.items())]
    for word in words:
        if "\0" in word:
            raise WorldError(VoidCause.HARNESS, f"a NUL character in {one_line(word)!r}: no program can be given that")
    try:
        body = "\0".join(words).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise WorldError(VoidCause.HARNESS, f"an argument of the program is no Unicode text: {error.reason}") from None
    return LENGTH.pack(len(body)) + body


def hand_over(control: socket.socket, message: bytes, fds: tuple[int, ...] = ()) -> socket.socket:
    """Send a launch. The first piece goes with the pipes and fits into any socket's buffer."""
    try:
        control.settimeout(_PATIENCE)
        sent = socket.send_fds(control, [message[:_PIECE]], fds)
        if sent < len(message):
            control.sendall(message[sent:])
        control.setblocking(False)
    except OSError:
        control.close()
        raise
    return control


class Launcher:
    """The nursery of supervisors: one small process for the whole run, from which every supervisor is forked."""

    def __init__(self, folder: Path, branch: Branch | None = None) -> None:
        self.folder = folder
        """What is left in here when Demeanor has gone is removed by the nursery."""
        self._branch = branch
        self._lock = threading.Lock()
        self._forkserver: subprocess.Popen[bytes] | None = None
        self._door: socket.socket | None = None
        self._idle: list[socket.socket] = []
        self._warm: dict[bytes, socket.socket] = {}

    def start(self) -> None:
        """Start the nursery, unless it runs. It gets ready while we go on."""
        with self._lock:
            if self._forkserver is not None:
                return
            ours, theirs = socket.socketpair()
            with theirs:
                ours.setblocking(False)
                program = (sys.executable, "-I", "-S", "-c", _PROGRAM, _PACKAGES)
                try:
                    self._forkserver = subprocess.Popen(
                        [
                            *program,
                            str(theirs.fileno()),
                            str(self.folder),
                            *(self._branch.words() if self._branch else ()),
                        ],
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        cwd="/",
                        env={name: os.environ[name] for name in _PYTHON_NEEDS if name in os.environ},
                        pass_fds=[theirs.fileno()],
                        start_new_session=True,
                    )
                except OSError as error:
                    ours.close()
                    raise WorldError(VoidCause.SANDBOX, f"the supervisor can't be started: {error}") from None
            self._door = ours

    def launch(self, message: bytes, fds: tuple[int, int]) -> socket.socket:
        """Hand a launch to a supervisor that has nothing to do, or to a fresh one; the socket to control it by."""
        self._look_after_nursery()
        while self._idle:
            with contextlib.suppress(IndexError, OSError):  # another thread was quicker; somebody killed it
                return hand_over(self._idle.pop(), message, fds)
        control = self._fresh(SUPERVISOR)
        try:
            return hand_over(control, message, fds)
        except OSError as error:
            raise WorldError(VoidCause.SANDBOX, f"the supervisor has died before it began ({error})") from None

    def warden(self) -> socket.socket:
        """A fresh warden; the socket to control it by."""
        return self._warmed(WARDEN)

    def fence(self) -> socket.socket:
        """A fresh supervisor that fences programs in; the socket to control it by."""
        return self._warmed(FENCE)

    def _warmed(self, kind: bytes) -> socket.socket:
        """A supervisor of that kind. To enter a control group takes a while, so the next one begins with that now."""
        self._look_after_nursery()
        warm = self._warm.pop(kind, None)
        if self._branch is not None:
            self._warm[kind] = self._fresh(kind)
        return warm or self._fresh(kind)

    def keeper(self) -> socket.socket:
        """A fresh keeper of a lodge; the socket to control it by."""
        self._look_after_nursery()
        return self._fresh(KEEPER)

    def hear(self, control: socket.socket) -> bytes:
        """What a supervisor says; empty when it has gone."""
        return control.recv(256)

    def give_back(self, control: socket.socket, *, in_peace: bool) -> None:
        """Let a supervisor whose program has ended in peace serve again."""
        if self._forkserver is None or not in_peace:
            control.close()
        else:
            self._idle.append(control)

    def _look_after_nursery(self) -> None:
        """Start the nursery where there is none. Where it has died, say so once: what fell to it may live on."""
        forkserver = self._forkserver
        if forkserver is not None and forkserver.poll() is not None:
            self.stop()
            raise WorldError(
                VoidCause.SANDBOX, f"the nursery of supervisors has died (exit code {forkserver.returncode})"
            )
        self.start()

    def _fresh(self, kind: bytes) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                if self._door is None:
                    raise BrokenPipeError
                socket.send_fds(self._door, [kind], [theirs.fileno()])
            except OSError as error:
                ours.close()
                raise WorldError(VoidCause.SANDBOX, f"no supervisor can be had ({error})") from None
        return ours

    def stop(self) -> None:
        """Close the door: the nursery ends after its last supervisor, and removes what is left of the benches."""
        with self._lock:
            forkserver, door = self._forkserver, self._door
            self._forkserver = self._door = None
        while self._idle:
            self._idle.pop().close()
        while self._warm:
            self._warm.popitem()[1].close()
        if forkserver is None or door is None:
            return
        with door, contextlib.suppress(OSError):
            door.settimeout(_PATIENCE)
            door.shutdown(socket.SHUT_WR)
            door.recv(1)  # its end of the socket closes when it has ended
        with contextlib.suppress(subprocess.TimeoutExpired):
            forkserver.wait(0.5)
        forkserver.kill()
        forkserver.wait()
