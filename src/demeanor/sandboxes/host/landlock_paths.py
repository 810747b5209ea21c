"""What a program behind a fence may read and use of the host: what bubblewrap shows, but nothing is made up."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from demeanor.core.errors import WorldError
from demeanor.core.verdict import VoidCause
from demeanor.sandboxes.host.bwrap_args import HOST_ETC, SYSTEM

_ETC = (*HOST_ETC, "passwd", "group", "hosts", "nsswitch.conf")
"""What can be read of /etc; the host's users are to be seen."""

_DEVICES = ("null", "zero", "full", "random", "urandom")


@cache
def readable(*, host_network: bool) -> tuple[str, ...]:
    """What every program may read, as far as it is there."""
    etc = (*_ETC, *(("resolv.conf",) if host_network else ()))
    return _there((*SYSTEM, *(f"/etc/{name}" for name in etc), "/proc"))


@cache
def devices() -> tuple[str, ...]:
    """What every program may read and write, as far as it is there."""
    return _there(f"/dev/{name}" for name in _DEVICES)


def check_readable(shown: tuple[str, ...]) -> None:
    """Where root lets somebody else be the agent, an installation must be for everybody; else raises WorldError."""
    for path in shown:
        for folder in Path(path).parents:
            if not folder.stat().st_mode & 0o001:
                why = f"agents of root run as somebody else, who can't enter {folder}, where {path} lies"
                raise WorldError(VoidCause.MISSING, f"{why}; install it elsewhere, or use --sandbox bubblewrap")


def _there(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(path for path in paths if Path(path).exists())
