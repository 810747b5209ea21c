"""The way from Holdfast to its supervisors: see sandboxes/supervisor.py, which runs at the other end."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from pathlib import Path

from holdfast.core.errors import WorldError
from holdfast.core.verdict import VoidCause

_PROGRAM = str(Path(__file__).with_name("supervisor.py"))
_PATIENCE = 10.0


class Launcher:
    """The nursery of supervisors: one small process for the whole run, from which every supervisor is forked."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._nursery: subprocess.Popen[bytes] | None = None
        self._door: socket.socket | None = None

    def start(self) -> None:
        """Start the nursery, unless it runs. It gets ready while we go on."""
        with self._lock:
            if self._nursery is not None:
                return
            ours, theirs = socket.socketpair()
            with theirs:
                ours.setblocking(False)
                command = [sys.executable, "-I", "-S", _PROGRAM, str(theirs.fileno()), str(self._folder)]
                try:
                    self._nursery = subprocess.Popen(
                        command,
                        stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL,
                        cwd="/",
                        env={},
                        pass_fds=[theirs.fileno()],
                        start_new_session=True,
                    )
                except OSError as error:
                    ours.close()
                    raise WorldError(VoidCause.SANDBOX, f"the supervisor can't be started: {error}") from None
            self._door = ours

    def supervisor(self) -> socket.socket:
        """The control socket of a fresh supervisor. Where the nursery has died, WorldError is raised, once."""
        self.start()
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                if self._door is None:
                    raise BrokenPipeError
                socket.send_fds(self._door, [b"+"], [theirs.fileno()])
            except OSError as error:
                ours.close()
                self.stop()
                raise WorldError(VoidCause.SANDBOX, f"the nursery of supervisors has died ({error})") from None
        return ours

    def stop(self) -> None:
        """Close the door: the nursery ends after its last supervisor, and removes what is left of the benches."""
        with self._lock:
            nursery, door = self._nursery, self._door
            self._nursery = self._door = None
        if door is not None:
            door.close()
        if nursery is not None:
            try:
                nursery.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                nursery.kill()
                nursery.wait()
