"""Messages to supervisors, encoded and sent; supervisor/messages.py receives them."""

from __future__ import annotations

import marshal
import os
import socket
from collections.abc import Iterable, Mapping

from demeanor.core.text.wording import one_line
from demeanor.core.values.errors import WorldError
from demeanor.core.values.verdict import VoidCause
from demeanor.sandboxes.supervisor.messages import LENGTH

SEND_TIMEOUT = 10.0
_FIRST_PIECE = 65536
_MARSHAL_VERSION = 2
"""Later versions intern texts, and a supervisor would have to copy many pages of the table for that."""


def encode(message: Mapping[str, object]) -> bytes:
    """A message as bytes."""
    body = marshal.dumps(dict(message), _MARSHAL_VERSION)
    return LENGTH.pack(len(body)) + body


def check_words(words: Iterable[str]) -> None:
    """Raise WorldError for text that can't be an argument or an environment variable of a program."""
    words = tuple(words)
    if (joined := "".join(words)).isascii() and "\0" not in joined:
        return  # nearly always; there may be a hundred words
    for word in words:
        if "\0" in word:
            problem = f"a program's arguments and environment can't contain a NUL character: {one_line(word)!r}"
            raise WorldError(VoidCause.HARNESS, problem)
        try:
            os.fsencode(word)
        except UnicodeEncodeError as error:
            why = f"an argument of the program is not valid Unicode text: {error.reason}"
            raise WorldError(VoidCause.HARNESS, why) from None


def check_environment(env: Mapping[str, str]) -> None:
    """Raise WorldError for what can't be a program's environment."""
    check_words(f"{name}={value}" for name, value in env.items())


def send(control: socket.socket, message: bytes, fds: tuple[int, ...] = ()) -> socket.socket:
    """Send a message; the socket is closed on failure. The first piece carries the descriptors. The other side waits
    for a message, so the buffer is empty, and at least a part of the piece fits into it.
    """
    try:
        control.setblocking(False)
        sent = socket.send_fds(control, [message[:_FIRST_PIECE]], fds)
        if sent < len(message):
            control.settimeout(SEND_TIMEOUT)
            control.sendall(message[sent:])
            control.setblocking(False)
    except OSError:
        control.close()
        raise
    return control


class SupervisorClient:
    """The client of a supervisor that belongs to one attempt. It satisfies `ProcessStarter`."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control

    def launch(self, message: bytes, fds: tuple[int, ...]) -> socket.socket:
        """Send a launch to the supervisor; returns the control socket."""
        try:
            return send(self._control, message, fds)
        except OSError as error:
            raise WorldError(VoidCause.SANDBOX, f"the supervisor exited unexpectedly ({error})") from None

    def receive(self, control: socket.socket) -> bytes | None:
        """Receive from the supervisor; empty when it has exited."""
        return control.recv(4096)

    def release(self, control: socket.socket, *, clean: bool) -> None:
        """Keep the supervisor for the attempt's next program."""

    def close(self) -> None:
        """Hang up; the supervisor kills the processes that are left, and exits."""
        self._control.close()
