"""Messages from Demeanor to a supervisor: a length, a marshalled dict, file descriptors. Answers are single lines."""

from __future__ import annotations

import marshal
import os
import socket
import struct
from typing import Any

LENGTH = struct.Struct("!I")
"""The header of a message: the length of its body."""


def receive_bytes(connection: socket.socket, size: int) -> bytes:
    """Receive bytes; none when Demeanor has closed the socket. If it left an answer unread, as when it is killed, the
    kernel reports a reset connection instead of the end.
    """
    try:
        return connection.recv(size)
    except ConnectionResetError:
        return b""


def receive_fds(connection: socket.socket, size: int, max_fds: int) -> tuple[bytes, list[int]]:
    """The same with file descriptors, which are not inherited by child processes."""
    try:
        data, fds, _, _ = socket.recv_fds(connection, size, max_fds)
    except ConnectionResetError:
        return b"", []
    for fd in fds:
        os.set_inheritable(fd, False)
    return data, fds


def receive(control: socket.socket, max_fds: int) -> tuple[dict[str, Any] | None, list[int]]:
    """Receive one message with its file descriptors; None when Demeanor has closed the socket."""
    head, fds = receive_fds(control, LENGTH.size, max(max_fds, 1))
    if len(head) < LENGTH.size:
        return None, fds
    left = LENGTH.unpack(head)[0]
    body = bytearray()
    while len(body) < left:
        more = receive_bytes(control, left - len(body))
        if not more:
            return None, fds
        body += more
    return marshal.loads(body), fds  # noqa: S302 - only Demeanor has the other end of the socket


def reply(control: socket.socket, line: bytes, fds: list[int] | None = None) -> bool:
    """Send a line, and file descriptors, to Demeanor; False when it has closed the socket."""
    try:
        socket.send_fds(control, [line], fds or [])
    except OSError:
        return False
    return True


def reason(error: OSError) -> bytes:
    """The reason of an error as one line of bytes."""
    return os.fsencode(error.strerror or str(error)).replace(b"\n", b" ")
