"""How a program is started, its limits, and how it ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """A program to start in a sandbox, without a shell."""

    argv: tuple[str, ...]
    """The program and its arguments."""

    env: Mapping[str, str] = field(default_factory=dict)
    """Variables that the adapter adds to the sandbox's own (PATH, HOME, TMPDIR, LANG, TERM)."""

    reads: tuple[str, ...] = ()
    """Folders and files of the host that the program needs: its installation. Other paths may be hidden."""

    lists: tuple[str, ...] = ()
    """Folders of the host in which the program looks for the files in `reads`, and may see the names of others."""

    path: str = ""
    """PATH as the program needs it, from which hidden folders are removed; empty for the host's."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """The limits of a program."""

    wall: float
    """The time limit in seconds."""

    idle: float | None = None
    """The longest time without output or model traffic, in seconds; None means no limit."""

    grace: float = 3.0
    """Seconds between SIGTERM and SIGKILL after a limit is reached."""

    farewell: float = 0.0
    """The same after the run is cancelled; 0 kills the program at once."""

    paused: Callable[[], float] = field(default=lambda: 0.0, compare=False)
    """Seconds that do not count, because the program waits for the user; asked whenever the clock is looked at."""

    watch: str = ""
    """A text that is searched for in output that is not kept."""

    output_bytes: int = 4 * 2**20
    """How much of each output stream is kept: half from the beginning and half from the end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """What a program printed on one stream."""

    text: str = ""
    """The kept output, decoded as UTF-8; invalid bytes are shown as \\xNN."""

    total_bytes: int = 0
    """The total size."""

    left_out: int = 0
    """The number of bytes left out in the middle."""

    leaked: bool = False
    """Whether the watched text was in what is not kept."""

    @property
    def truncated(self) -> bool:
        """Whether bytes in the middle were left out."""
        return self.left_out > 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessEnd:
    """How a program ended."""

    exit_code: int | None = None
    """Its exit code; None if a signal killed it."""

    signal: int | None = None
    """The signal that killed it, if any."""

    ended_by: Literal["exit", "wall", "idle", "memory", "cancelled"] = "exit"
    """Why it ended: by itself, by a limit or by cancellation."""

    stdout: Output = field(default_factory=Output)
    """What it printed."""

    stderr: Output = field(default_factory=Output)
    """What it printed as errors."""

    seconds: float = 0.0
    """Seconds from the start to the end of its last process."""

    leftovers: int = 0
    """Processes that it left behind and that were killed."""

    cpu_seconds: float = 0.0
    """CPU time of all its processes."""

    peak_bytes: int = 0
    """The peak memory of its processes, as sampled; at least that of the largest process."""

    asked_hosts: tuple[str, ...] = ()
    """The hosts that it looked up where there is no network. Hostile text."""
