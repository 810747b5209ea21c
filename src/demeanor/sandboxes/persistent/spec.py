"""What a persistent sandbox is asked for: its spec, which is sent to its supervisor, and a program to run in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class PersistentSpec:
    """What the supervisor needs to know to set up a persistent sandbox."""

    bwrap: str
    """The path of bubblewrap."""

    filter: bytes
    """The seccomp filter."""

    single_user_filter: bytes
    """The seccomp filter for a sandbox with one user."""

    etc: str
    """The folder that is copied to /etc."""

    system: tuple[str, ...]
    """The folders of the host's programs, and links to them, if they exist."""

    rootfs: str | None
    """A root file system to use instead of the host's programs."""

    reads: tuple[str, ...]
    """Other paths of the host to mount read-only, at the same path."""

    network: Literal["gateway", "none", "host"]
    """What programs can connect to."""

    port: int
    """The port of the listener."""

    uid: int | None
    """The user that the supervisor switches to when it is root and there can't be many users; None for an ordinary
    user.
    """

    many_users: bool
    """Whether to try to create a user namespace with many users."""

    first_uid: int
    """The uid outside of that namespace's root."""

    uid_count: int
    """How many users that namespace has."""

    disk: int
    """The size of the disk, in bytes."""

    inodes: int
    """How many files and folders can be created on it."""

    memory: int
    """The memory limit of all processes together, in bytes."""

    rlimits: Mapping[str, int]
    """Resource limits, by name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExecRequest:
    """A program to run."""

    argvs: tuple[tuple[str, ...], ...]
    """The program with its arguments. Of several, the first whose program exists is run."""

    env: Mapping[str, str]
    """Its whole environment except HOME."""

    cwd: str = "/"
    """Its working directory."""

    user: str = "root"
    """The user to run it as: a name or a number, or `user:group`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExecResult:
    """How a program ended."""

    code: int
    """The exit code; 128 + N when signal N ended it."""

    stdout: str
    """Its standard output."""

    stderr: str
    """Its standard error."""

    timed_out: bool = False
    """Whether it was killed because it took too long."""
