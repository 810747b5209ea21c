"""Hands the socket that listens in a sandbox to whoever serves the trial's gateway session.

The protocol: connect to a unix stream socket, send one byte with the listener (SCM_RIGHTS), wait for one byte.
"""

from __future__ import annotations

import socket

from demeanor.core.errors import WorldError
from demeanor.core.verdict import VoidCause

_PATIENCE = 30.0


def hand_door(gateway: str, door: socket.socket) -> None:
    """Hand it over; raises WorldError where nobody takes it."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
            line.settimeout(_PATIENCE)
            line.connect(gateway)
            socket.send_fds(line, [b"\n"], [door.fileno()])
            taken = line.recv(1)
    except OSError as error:
        raise WorldError(VoidCause.HARNESS, f"the gateway at {gateway} can't be reached: {error}") from None
    if not taken:
        raise WorldError(VoidCause.HARNESS, f"the gateway at {gateway} did not take the sandbox's listener")
