"""Sends the listener of a sandbox to the process that serves the trial's gateway session.

The protocol: connect to a unix stream socket, send one byte with the listener (SCM_RIGHTS), wait for one byte.
"""

from __future__ import annotations

import socket

from demeanor.core.values.errors import WorldError
from demeanor.core.values.verdict import VoidCause

_TIMEOUT = 30.0


def send_listener(gateway: str, listener: socket.socket) -> None:
    """Send the listener to the gateway's socket; raises WorldError when it is not accepted."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(_TIMEOUT)
            connection.connect(gateway)
            socket.send_fds(connection, [b"\n"], [listener.fileno()])
            accepted = connection.recv(1)
    except OSError as error:
        raise WorldError(VoidCause.HARNESS, f"the gateway at {gateway} can't be reached: {error}") from None
    if not accepted:
        raise WorldError(VoidCause.HARNESS, f"the gateway at {gateway} did not accept the sandbox's listener")
