"""The only name server in a sandbox without a network: it knows no host, and remembers which were asked for.

So an agent that calls its model's provider itself, and not the gateway, can be told which host it asked for. The C
library, Go and musl all ask at 127.0.0.1 where resolv.conf is empty. What arrives is hostile.
"""

from __future__ import annotations

import contextlib
import re
import socket

_PORT = 53
_HEAD = 12
_MOST_NAMES = 8
_MOST_AT_ONCE = 64
_NO_SUCH_NAME = b"\x81\x83"
"""The flags of an answer: recursion desired and available, and that the name does not exist."""
_HOST = re.compile(rb"[A-Za-z0-9._-]{1,120}")


class HostNames:
    """Answers lookups of this network namespace."""

    def __init__(self) -> None:
        """Raises OSError if nothing can listen here."""
        self.asked: dict[bytes, None] = {}
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._socket.bind(("127.0.0.1", _PORT))

    def fileno(self) -> int:
        """The descriptor that can be read when there is a lookup."""
        return self._socket.fileno()

    def answer(self) -> None:
        """Answer the lookups that have arrived."""
        with contextlib.suppress(BlockingIOError):
            for _ in range(_MOST_AT_ONCE):
                query, sender = self._socket.recvfrom(512)
                name, end = question(query)
                if end and _HOST.fullmatch(name) and len(self.asked) < _MOST_NAMES:
                    self.asked[name.lower()] = None
                if end:
                    counts = b"\0\1" + bytes(6)
                    with contextlib.suppress(OSError):
                        self._socket.sendto(query[:2] + _NO_SUCH_NAME + counts + query[_HEAD:end], sender)

    def report(self, ended: bytes) -> bytes:
        """The report of a program, with the names that were asked for since the last one."""
        self.answer()
        names, self.asked = b",".join(self.asked), {}
        return ended.removesuffix(b"\n") + b" asked=" + names + b"\n" if names else ended


def question(query: bytes) -> tuple[bytes, int]:
    """The name that a query asks for, and where its question ends; 0 if it can't be read."""
    labels, at = [], _HEAD
    while at < len(query) and 0 < query[at] < 64:
        labels.append(query[at + 1 : at + 1 + query[at]])
        at += 1 + query[at]
    complete = at + 5 <= len(query) and query[at] == 0
    return (b".".join(labels), at + 5) if complete else (b"", 0)
