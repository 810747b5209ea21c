"""A container as Demeanor has it: the way to its steward (steward.py), the socket that listens in it, and its disk."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from demeanor.core.errors import WorldError
from demeanor.core.text import one_line
from demeanor.core.verdict import VoidCause
from demeanor.sandboxes.host.bwrap_client import check_words, message
from demeanor.sandboxes.host.container_cli import ContainerEngine, ContainerSpec, last_words, run_words
from demeanor.sandboxes.host.copytree import remove
from demeanor.sandboxes.host.launcher import hand_over
from demeanor.sandboxes.supervisor.container_init import CODE, SOCKET

_PROGRAM = (
    f"import sys; sys.path.insert(0, {CODE!r}); from demeanor.sandboxes.supervisor.container_init import main; main()"
)
_PYTHON: str = getattr(sys, "_base_executable", sys.executable)
_PATIENCE = 30.0
_LOOK = 0.5
_WORDS = 4096
_CREDENTIALS = struct.Struct("3i")

SEES = {f"{CODE}/demeanor/sandboxes": str(Path(__file__).parents[1])}
"""What a steward needs to be shown, and where; besides its Python."""

PYTHON_READS = (sys.base_prefix, _PYTHON)
"""The Python that a steward is run by."""


def launch_message(argv: Sequence[str], env: Mapping[str, str], home: Mapping[str, bytes]) -> bytes:
    """A launch as bytes; raises WorldError for what no program can be given."""
    check_words((*argv, *(f"{name}={value}" for name, value in env.items())))
    return message({"argv": list(argv), "env": dict(env), "home": dict(home)})


class ContainerClient:
    """One container. It is made by `start`, and gone when `end` has returned."""

    def __init__(self, engine: ContainerEngine, plan: ContainerSpec, folder: str) -> None:
        self.door: socket.socket | None = None
        """The socket that listens in there."""
        self.disk: int | None = None
        """Its disk, opened."""
        self.held: frozenset[str] = frozenset()
        """The limits that the kernel holds it to: `memory`, `processes`."""
        self._engine = engine
        self._plan = replace(plan, shows={**plan.shows, SOCKET: f"{folder}/socket"})
        self._folder = folder
        self._control: socket.socket | None = None
        self._init: int | None = None
        self._begun = False

    def start(self, order: Mapping[str, object]) -> None:
        """Have the engine start it, and wait until its steward has laid out the room; for a worker thread."""
        words = run_words(self._engine, self._plan, (_PYTHON, "-I", "-S", "-c", _PROGRAM))
        place = Path(self._folder, "socket")
        with socket.socket(socket.AF_UNIX) as way:
            _bind(way, place)
            self._begun = True
            self._engine.do(*words, at=self._folder)
            self._control = self._met(way, words)
        place.unlink()
        self._init = _handle(self._control)
        hand_over(self._control, message(order))
        self._control.settimeout(_PATIENCE)
        try:
            said, fds, _, _ = socket.recv_fds(self._control, _WORDS, 2)
        except OSError as error:
            said, fds = str(error).encode(), []
        self._control.setblocking(False)
        if fds:
            self.disk = fds[0]
        if len(fds) > 1:
            self.door = socket.socket(fileno=fds[1])
        word, *held = said.decode("utf-8", "backslashreplace").split() or [""]
        self.held = frozenset(held)
        if word != "ready" or not fds:
            why = one_line(said.removeprefix(b"fail ").decode("utf-8", "backslashreplace")) or "its steward died"
            raise WorldError(VoidCause.SANDBOX, f"the container can't be laid out: {why}")

    def _met(self, way: socket.socket, words: list[str]) -> socket.socket:
        """The steward's socket. Where it does not come, it is asked for its last words."""
        way.settimeout(_LOOK)
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            with contextlib.suppress(TimeoutError):
                return way.accept()[0]
            state = self._engine.ask("inspect", "--format", "{{.State.Running}}", self._plan.name)
            if state.stdout.strip() != b"true":
                break
        self._remove()
        words = [word for word in words if word != "--detach"]
        why = last_words(self._engine.ask(*words, at=self._folder))
        raise WorldError(VoidCause.SANDBOX, f"the first program in the container did not come up: {why}")

    def launch(self, launch: bytes, fds: tuple[int, int]) -> socket.socket:
        """Hand a launch to the steward; the socket to control it by."""
        try:
            if self._control is None:
                raise BrokenPipeError("it was not started")
            return hand_over(self._control, launch, fds)
        except OSError as error:
            raise WorldError(VoidCause.SANDBOX, f"the container has ended ({error})") from None

    def hear(self, control: socket.socket) -> bytes:
        """What the steward says; empty when it has gone."""
        return control.recv(_WORDS)

    def give_back(self, control: socket.socket, *, in_peace: bool) -> None:
        """A container is left as a whole."""

    def end(self) -> None:
        """Remove the container, and be sure that nobody in it lives any more; for a worker thread. The disk stays."""
        if not self._begun:
            return
        self._begun = False
        self._remove()
        if self._control is not None:
            self._control.close()  # should the engine have failed us, the steward ends by this
        if not self._gone():
            raise WorldError(VoidCause.SANDBOX, f"the container {self._plan.name} did not end")

    def _gone(self) -> bool:
        """Whether its init has ended, and with it everybody; the engine's word must do where the init can't be seen."""
        if self._init is None:
            return self._engine.ask("inspect", self._plan.name).returncode != 0
        init, self._init = self._init, None
        try:
            return bool(select.select([init], [], [], _PATIENCE)[0])
        finally:
            os.close(init)

    def _remove(self) -> None:
        if self._init is not None:
            with contextlib.suppress(OSError):  # it is not ours to kill, or has ended
                signal.pidfd_send_signal(self._init, signal.SIGKILL)
        self._engine.ask("rm", "--force", "--volumes", self._plan.name)

    def close(self) -> None:
        """Let go of everything; for a worker thread."""
        try:
            self.end()
        finally:
            if self.door is not None:
                with contextlib.suppress(OSError):  # the gateway may have closed it
                    self.door.close()
            if self.disk is not None:
                os.close(self.disk)
                self.disk = None
            remove(self._folder)


def _bind(way: socket.socket, place: Path) -> None:
    """Listen at a path, however long it is; it lies in a folder that is ours alone."""
    folder = os.open(place.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        way.bind(f"/proc/self/fd/{folder}/{place.name}")
    finally:
        os.close(folder)
    place.chmod(0o666)
    way.listen(1)


def _handle(control: socket.socket) -> int | None:
    """A handle for the steward, by which its end is seen: the kernel tells who is at the other end of a socket."""
    pid, _, _ = _CREDENTIALS.unpack(control.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    try:
        return os.pidfd_open(pid) if pid > 0 else None
    except OSError:
        return None
