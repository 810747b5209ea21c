"""Removes what earlier runs left whose Demeanor, fork server and supervisors were all killed at once.

A run is recognised by its own marks only: its folder, whose name has the process that created it, and processes that
carry the folder's path in their environment or work in it. A run whose owner or fork server lives is
left alone, and so is everything of other users.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
from pathlib import Path

from demeanor.sandboxes.host.copytree import remove

_NAME = re.compile(r"demeanor-(\d+)-(\d+)-[0-9a-f]{12}")


def new_folder_name() -> str:
    """The name for the folder of a run of this process: with its pid, and when it was started."""
    return f"demeanor-{os.getpid()}-{_started(os.getpid()) or 0}-{os.urandom(6).hex()}"


def remove_stale_runs(root: Path) -> None:
    """Kill the processes and remove the folders of runs in `root` of which nothing else is alive."""
    if not Path("/proc/self/stat").exists():
        return
    for folder in root.glob("demeanor-*"):
        with contextlib.suppress(OSError):  # another run removes it too
            if (name := _NAME.fullmatch(folder.name)) and _is_stale(folder, int(name[1]), name[2]):
                _kill(folder)
                remove(str(folder))


def _is_stale(folder: Path, pid: int, started: str) -> bool:
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        return False
    return _started(pid) != started and not _fork_server_lives(folder)


def _fork_server_lives(folder: Path) -> bool:
    name = os.fsencode(folder)
    return any(name in _read(pid, "cmdline").split(b"\0") for pid in _pids())


def _kill(folder: Path) -> None:
    """Kill every process with the folder's path, until a round finds none."""
    for _ in range(100):
        found = [pid for pid in _pids() if _belongs(pid, folder)]
        if not found:
            return
        for pid in found:
            with contextlib.suppress(OSError):
                handle = os.pidfd_open(pid)
                try:
                    if _belongs(pid, folder):  # the pid may have been reused before it was opened
                        signal.pidfd_send_signal(handle, signal.SIGKILL)
                finally:
                    os.close(handle)


def _belongs(pid: int, folder: Path) -> bool:
    """Whether a living process has the folder, or a path in it, in its environment, or works in it."""
    name = os.fsencode(folder)
    values = [line.partition(b"=")[2] for line in _read(pid, "environ").split(b"\0")]
    with contextlib.suppress(OSError):
        values.append(os.fsencode(Path(f"/proc/{pid}/cwd").readlink()))
    alive = _read(pid, "stat").rpartition(b")")[2].split()[:1] not in ([], [b"Z"], [b"X"])
    return pid != os.getpid() and alive and any(value == name or value.startswith(name + b"/") for value in values)


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _started(pid: int) -> str:
    """When a process was started, in clock ticks since boot; empty if there is none."""
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return fields[19].decode() if len(fields) > 19 else ""


def _read(pid: int, name: str) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/{name}").read_bytes()
    return b""
