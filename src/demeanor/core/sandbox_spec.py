"""What a sandbox is told: how much everything in it may use, and what it may reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Network: TypeAlias = Literal["gateway", "none", "host"]
"""What a program in a sandbox can reach: its own gateway and nothing else; nothing at all; or what the host can."""


NETWORKS: tuple[Network, ...] = ("gateway", "none", "host")

RANKS: Mapping[str, int] = {"bubblewrap": 2, "docker": 2, "podman": 2, "landlock": 1, "seatbelt": 1, "none": 0}
"""The levels, and how much they keep apart: `min_isolation` asks for at least as much as a level does."""

DEFAULT_LEVEL = "bubblewrap"
"""Where agents run unless another level is named. What can't be had is an error, and never replaced by less."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ceilings:
    """How much an attempt may use, everything it starts taken together. A level says which of these it can hold."""

    processes: int = 1024
    """Processes and threads at once."""

    disk: int = 2 * 2**30
    """Bytes written: workspace, HOME and temp folder together. They are kept in memory."""

    files: int = 500_000
    """Files and folders made."""

    memory: int = 4 * 2**30
    """Bytes of memory."""

    output: int = 4 * 2**20
    """Bytes of each output stream that are kept."""
