"""Names of temporary folders that tell which process created them, so that a later run can remove what one that was
killed left behind.
"""

from __future__ import annotations

import contextlib
import os
import re
from pathlib import Path

_NAME = re.compile(r"demeanor-(\d+)-(\d+)-\w+")


def temp_prefix() -> str:
    """The prefix for the names of temporary folders of this process: with its pid, and when it was started."""
    return f"demeanor-{os.getpid()}-{_started(os.getpid()) or '0'}-"


def owner_is_dead(name: str) -> bool:
    """Whether a temporary folder was created by a process that no longer exists; False for any other name."""
    found = _NAME.fullmatch(name)
    return found is not None and _started(int(found[1])) != found[2]


def _started(pid: int) -> str:
    """When a process was started, in clock ticks since boot; empty if there is none."""
    with contextlib.suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return fields[19].decode() if len(fields) > 19 else ""
    return ""
