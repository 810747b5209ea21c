"""Answers a client's probe for a newer protocol before the SDK is loaded.

Some clients ask `server/discover` first, and send `initialize` if there is no answer in time. On a busy machine,
loading the SDK takes longer than that, and a server that has accepted the probe must refuse `initialize`. So the probe
is refused at once, and every client continues with the handshake.
"""

from __future__ import annotations

import json
import os
from io import RawIOBase
from typing import Any

_NO_SUCH_METHOD = -32601


def first_message(source: int, target: int) -> bytes:
    """Refuse probes, and return the first other line; both files are descriptors, so that nothing more is read."""
    while line := _line(source):
        try:
            message = json.loads(line)
        except ValueError:
            return line
        if not isinstance(message, dict) or message.get("method") != "server/discover" or "id" not in message:
            return line
        error = {"code": _NO_SUCH_METHOD, "message": "Method not found"}
        os.write(target, json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": error}).encode() + b"\n")
    return b""


class Resumed(RawIOBase):
    """A file whose first bytes were read already."""

    def __init__(self, first: bytes, descriptor: int) -> None:
        self._first = first
        self._descriptor = descriptor

    def readable(self) -> bool:
        """It is for reading only."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the bytes that were read already, then the others."""
        data = self._first[: len(buffer)] or os.read(self._descriptor, len(buffer))
        self._first = self._first[len(data) :]
        buffer[: len(data)] = data
        return len(data)


def _line(descriptor: int) -> bytes:
    """The next line, read byte by byte; empty at the end."""
    line = bytearray()
    while not line.endswith(b"\n") and (byte := os.read(descriptor, 1)):
        line += byte
    return bytes(line)
