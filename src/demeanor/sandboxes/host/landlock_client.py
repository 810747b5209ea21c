"""A fence as Demeanor has it: the way to the supervisor that fences programs in, and the grounds. See fence.py."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from demeanor.core.errors import WorldError
from demeanor.core.sandbox_spec import Network
from demeanor.core.verdict import VoidCause
from demeanor.sandboxes.host.bwrap_client import check_words, message
from demeanor.sandboxes.host.launcher import Launcher, hand_over

_WORDS = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class LandlockSpec:
    """What lies behind one fence."""

    place: str
    """The folder of the attempt's own folders."""

    uid: int
    """Who its programs are."""

    door: socket.socket | None
    """The socket that they can reach."""

    network: Network
    """What they can reach at all."""

    filter: bytes
    """The system calls that are refused."""

    @property
    def port(self) -> int | None:
        """Where the door is; None where there is none."""
        return int(self.door.getsockname()[1]) if self.door is not None else None


def launch_message(order: Mapping[str, Any]) -> bytes:
    """A launch as bytes; raises WorldError for what no program can be given."""
    check_words((*order["argv"], *(f"{name}={value}" for name, value in order["env"].items())))
    return message(order)


class LandlockClient:
    """One fence, and whoever watches over it."""

    def __init__(self, launcher: Launcher) -> None:
        self.launcher = launcher
        """Where the supervisor is from."""
        self._control = launcher.fence()

    def launch(self, launch: bytes, fds: tuple[int, int]) -> socket.socket:
        """Hand a launch to the supervisor; the socket to control it by."""
        try:
            return hand_over(self._control, launch, fds)
        except OSError as error:
            raise WorldError(VoidCause.SANDBOX, f"the supervisor has died before it began ({error})") from None

    def hear(self, control: socket.socket) -> bytes:
        """What the supervisor says; empty when it has gone."""
        return control.recv(_WORDS)

    def give_back(self, control: socket.socket, *, in_peace: bool) -> None:
        """A fence stays until the attempt is over."""

    def close(self) -> None:
        """Leave: whoever is still behind the fence is killed."""
        self._control.close()
