"""Things of the host that are within reach of an ordinary program, so that it means something when they are not.

Files, sockets of all kinds, shared memory, and a process with a secret.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

_CREATE, _REMOVE = 0o1000, 0
_MOST_LETTERS = 50


@contextmanager
def oracles() -> Iterator[dict[str, str]]:
    """What there is, by name."""
    secret = f"secret-{uuid.uuid4().hex}"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="demeanor-oracle-", dir=_short())))
        folder.chmod(0o777)
        (folder / "secret").write_text(secret)
        (folder / "secret").chmod(0o644)
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        everywhere = stack.enter_context(socket.create_server(("0.0.0.0", 0)))  # noqa: S104 - to be out of reach
        path = _at_path(stack, folder / "socket", socket.SOCK_STREAM)
        path.listen()
        _at_path(stack, folder / "datagrams", socket.SOCK_DGRAM)
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0{secret}")
        abstract.listen()
        victim = subprocess.Popen(["sleep", "600"], env={"SECRET": secret})
        stack.callback(_end, victim)
        yield {
            "secret": secret,
            "file": str(folder / "secret"),
            "folder": str(folder),
            "tcp": str(tcp.getsockname()[1]),
            "address": own_address(),
            "everywhere": str(everywhere.getsockname()[1]),
            "socket": str(folder / "socket"),
            "datagrams": str(folder / "datagrams"),
            "shared": str(_shared(stack)),
            "victim": str(victim.pid),
            "supervisor": str(os.getpid()),
        }


@contextmanager
def door_and_twin(door: socket.socket | None) -> Iterator[dict[str, str]]:
    """The port of a door, one of our own where there is none; and whoever listens there at another address."""
    with ExitStack() as stack:
        if door is None:
            door = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = str(door.getsockname()[1])
        twin = {"door": port, "twin": port}
        with contextlib.suppress(OSError):  # somebody else listens there, which does as well
            stack.enter_context(socket.create_server((own_address(), int(port))))
        yield twin


def _short() -> str | None:
    """A folder for temporary things whose path is short enough for a socket; None for the usual one."""
    return None if len(tempfile.gettempdir()) <= _MOST_LETTERS else "/tmp"  # noqa: S108 - a new folder is made in it


def _at_path(stack: ExitStack, path: Path, kind: int) -> socket.socket:
    sock = stack.enter_context(socket.socket(socket.AF_UNIX, kind))
    sock.bind(str(path))
    path.chmod(0o777)
    return sock


def _shared(stack: ExitStack) -> int:
    """The key of shared memory that everybody may use; one that nobody has where there is no such thing."""
    key = int.from_bytes(os.urandom(3), "big") + 1
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        number = libc.shmget(key, 4096, _CREATE | 0o666)
        if number >= 0:
            stack.callback(libc.shmctl, number, _REMOVE, None)
    return key


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def own_address() -> str:
    """An address of this machine that is not 127.0.0.1. Nothing is sent."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("192.0.2.1", 9))
        return str(sock.getsockname()[0])
    return "127.0.0.2"
