"""Targets on the host that an ordinary program can reach, so that it means something when a sandboxed one can't.

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

from demeanor.core.trees.guarded_folder import guarded_folder
from demeanor.core.trees.temp_names import temp_prefix

_CREATE, _REMOVE = 0o1000, 0
_MAX_PATH = 50


@contextmanager
def host_targets() -> Iterator[dict[str, str]]:
    """Create the targets; returns their addresses by name."""
    secret = f"secret-{uuid.uuid4().hex}"
    with ExitStack() as stack:
        folder = stack.enter_context(guarded_folder(temp_prefix(), parent=_short_temp_folder()))
        folder.chmod(0o777)
        (folder / "secret").write_text(secret)
        (folder / "secret").chmod(0o644)
        tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        everywhere = stack.enter_context(socket.create_server(("0.0.0.0", 0)))  # noqa: S104 - to be out of reach
        path = _bind_unix(stack, folder / "socket", socket.SOCK_STREAM)
        path.listen()
        _bind_unix(stack, folder / "datagrams", socket.SOCK_DGRAM)
        abstract = stack.enter_context(socket.socket(socket.AF_UNIX))
        abstract.bind(f"\0{secret}")
        abstract.listen()
        victim = subprocess.Popen(["cat"], env={"SECRET": secret}, stdin=subprocess.PIPE)  # it ends with this process
        stack.callback(_kill, victim)
        yield {
            "secret": secret,
            "file": str(folder / "secret"),
            "folder": str(folder),
            "tcp": str(tcp.getsockname()[1]),
            "address": own_address(),
            "everywhere": str(everywhere.getsockname()[1]),
            "socket": str(folder / "socket"),
            "datagrams": str(folder / "datagrams"),
            "shared": str(_shared_memory(stack)),
            "victim": str(victim.pid),
            "supervisor": str(os.getpid()),
        }


@contextmanager
def gateway_targets(listener: socket.socket | None) -> Iterator[dict[str, str]]:
    """The port of the gateway's listener, or of a new one; and a server at the same port of another address."""
    with ExitStack() as stack:
        if listener is None:
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = str(listener.getsockname()[1])
        ports = {"gateway": port, "other_address": port}
        with contextlib.suppress(OSError):  # another process listens there, which serves as well
            stack.enter_context(socket.create_server((own_address(), int(port))))
        yield ports


def _short_temp_folder() -> str | None:
    """A temp folder whose path is short enough for a unix socket; None for the default one."""
    return None if len(tempfile.gettempdir()) <= _MAX_PATH else "/tmp"  # noqa: S108 - a new folder is made in it


def _bind_unix(stack: ExitStack, path: Path, kind: int) -> socket.socket:
    sock = stack.enter_context(socket.socket(socket.AF_UNIX, kind))
    sock.bind(str(path))
    path.chmod(0o777)
    return sock


def _shared_memory(stack: ExitStack) -> int:
    """The key of a shared memory segment that every user may use; a random key where there is no such thing."""
    key = int.from_bytes(os.urandom(3), "big") + 1
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        number = libc.shmget(key, 4096, _CREATE | 0o666)
        if number >= 0:
            stack.callback(libc.shmctl, number, _REMOVE, None)
    return key


def _kill(process: subprocess.Popen[bytes]) -> None:
    with process:  # closes its pipe
        process.kill()


def own_address() -> str:
    """An address of this machine other than 127.0.0.1. Nothing is sent."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.connect(("192.0.2.1", 9))
        return str(sock.getsockname()[0])
    return "127.0.0.2"
