"""How a program is started, what it may use, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """A program to start in a bench. There is never a shell in between."""

    argv: tuple[str, ...]
    """The program and its arguments."""

    env: Mapping[str, str] = field(default_factory=dict)
    """What the adapter adds to the bench's own environment (PATH, HOME, TMPDIR, LANG, TERM)."""

    reads: tuple[str, ...] = ()
    """Folders and files of the host that the program can't do without: its own installation. Others may be hidden."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a program may use."""

    wall: float
    """Seconds from start to end."""

    idle: float | None = None
    """Seconds without any output or model traffic; None means no such limit."""

    grace: float = 3.0
    """Seconds between the polite and the forced end."""

    farewell: float = 0.0
    """The same where the run is cancelled: 0 for a program that has nothing to tidy up, which is ended at once."""

    output_bytes: int = 4 * 2**20
    """How much of each stream is kept: the first and the last half of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Output:
    """What a program printed on one stream."""

    text: str = ""
    """What was kept, decoded as UTF-8; bytes that are none are shown as \\xNN."""

    total_bytes: int = 0
    """How much there was."""

    left_out: int = 0
    """How many bytes in the middle were not kept."""

    @property
    def truncated(self) -> bool:
        """Whether something in the middle was left out."""
        return self.left_out > 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessEnd:
    """How a program ended."""

    exit_code: int | None = None
    """Its exit code; None where a signal ended it."""

    signal: int | None = None
    """The signal that ended it, if one did."""

    ended_by: Literal["exit", "wall", "idle", "memory", "cancelled"] = "exit"
    """Itself, or one of our limits."""

    stdout: Output = field(default_factory=Output)
    """What it printed."""

    stderr: Output = field(default_factory=Output)
    """What it printed as errors."""

    seconds: float = 0.0
    """From start to the end of its last process."""

    leftovers: int = 0
    """Processes it left behind, ended by us."""

    cpu_seconds: float = 0.0
    """CPU time of all its processes."""

    peak_bytes: int = 0
    """The most memory that its processes were seen to hold; at least what the largest of them held."""
