"""Files that a forked process inherits, and must not keep open."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from pathlib import Path


def forget_files(kept: int) -> None:
    """Replace inherited sockets, pipes and files opened for writing by /dev/null: when Demeanor closes them, their
    other ends must see it, and their locks must be released."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in [int(path.name) for path in Path("/dev/fd").iterdir()]:
        with contextlib.suppress(OSError):
            mode, flags = os.fstat(fd).st_mode, fcntl.fcntl(fd, fcntl.F_GETFL)
            shared = stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode) or flags & os.O_ACCMODE != os.O_RDONLY
            if fd > 2 and fd not in (kept, null) and shared:
                os.dup2(null, fd)
