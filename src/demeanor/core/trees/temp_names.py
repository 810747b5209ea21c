"""Names of temporary folders that tell which process created them, so that a later run can remove what one that was
killed left behind.

Pids mean something only within their pid namespace, and several containers or machines may share a temp folder. So the
name also has an identity of the namespace, and a folder of another namespace is never taken for one of a dead process.
"""

from __future__ import annotations

import contextlib
import os
import re
from hashlib import sha256
from pathlib import Path

_NAME = re.compile(r"demeanor-([0-9a-f]{8})-(\d+)-(\d+)-\w+")


def temp_prefix(pid: int | None = None) -> str:
    """The prefix for the names of temporary folders of a process, this one if none is given: its pid namespace, its pid
    and start time."""
    owner = os.getpid() if pid is None else pid
    return f"demeanor-{_namespace()}-{owner}-{_started(owner) or '0'}-"


def owner_is_dead(name: str) -> bool:
    """Whether a temporary folder was created by a process of this pid namespace that no longer exists; False for any
    other name."""
    match = _NAME.fullmatch(name)
    return match is not None and match[1] == _namespace() and _started(int(match[2])) != match[3]


def _namespace() -> str:
    """Identifies the pid namespace of this process, on this machine since it was started."""
    names = []
    with contextlib.suppress(OSError):
        names.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
    with contextlib.suppress(OSError):
        names.append(os.readlink("/proc/self/ns/pid"))  # noqa: PTH115 - its target is not a path
    return sha256(" ".join(names).encode()).hexdigest()[:8]


def _started(pid: int) -> str:
    """When a process was started, in clock ticks since boot; empty if there is none."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return fields[19].decode() if len(fields) > 19 else ""
    return ""
