"""What kind of lodge it is to be, as its keeper is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class PersistentSpec:
    """What kind of lodge it is to be."""

    bwrap: str
    """Where bubblewrap lies."""

    filter: bytes
    """The system calls that are refused."""

    etc: str
    """The folder that /etc starts from."""

    system: tuple[str, ...]
    """The folders of the host's programs, and links to them, as far as they are there."""

    rootfs: str | None
    """A root file system to start from; None for the host's programs."""

    reads: tuple[str, ...]
    """What else is shown of the host, read-only, where it lies."""

    network: Literal["gateway", "none", "host"]
    """What can be reached from in there."""

    port: int
    """Where the lodge's own socket listens."""

    uid: int | None
    """Whom the keeper becomes where it is root and there can't be many users; None where it is an ordinary user."""

    many: bool
    """Whether to try to have many users in there."""

    first: int
    """Who its root is outside, where there are many."""

    count: int
    """How many users there are then."""

    disk: int
    """Bytes that everything written in there may take."""

    inodes: int
    """Files and folders that may be made in there."""

    memory: int
    """Bytes of memory that everything in there may hold."""

    rlimits: Mapping[str, int]
    """Limits of the kernel, by name."""
