"""The settings of a sandbox: resource limits and network access."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

Network: TypeAlias = Literal["gateway", "none", "host"]
"""What a program in a sandbox can reach: only its gateway, nothing, or everything that the host can."""


NETWORKS: tuple[Network, ...] = ("gateway", "none", "host")

RANKS: Mapping[str, int] = {"bubblewrap": 2, "docker": 2, "podman": 2, "landlock": 1, "none": 0}
"""The sandbox levels ranked by isolation; `min_isolation` requires at least the rank of a level."""

DEFAULT_LEVEL = "bubblewrap"
"""The default level. If a level does not work here, that is an error; it is never replaced by a weaker one."""


_LEAST_PROCESS_MEMORY = 64 * 2**20


@dataclass(frozen=True, kw_only=True, slots=True)
class Ceilings:
    """The resource limits of an attempt with all its processes. Each level says which of them it can enforce."""

    processes: int = 1024
    """The maximum number of processes and threads."""

    disk: int = 2 * 2**30
    """Bytes written to workspace, HOME and temp folder together; they are in memory."""

    files: int = 500_000
    """The maximum number of files and folders created."""

    memory: int = 4 * 2**30
    """Bytes of memory."""

    output: int = 4 * 2**20
    """The bytes of each output stream that are kept."""

    @property
    def process_memory(self) -> int:
        """Bytes of data of each single process (RLIMIT_DATA), which no burst between two measurements exceeds.

        It is a quarter larger than `memory`, so that a process which grows is seen and named as the reason.
        """
        return max(self.memory + self.memory // 4, _LEAST_PROCESS_MEMORY)
