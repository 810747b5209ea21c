"""The folder of a run as the mark of its processes: what works in it, or has it in its environment, belongs to the run.

When Demeanor is killed, programs that it started itself, such as git, go on for a moment. They must end before the
folder is removed, or they would fill it again.
"""

# This is part of a small program of its own, which does without pathlib.
# ruff: noqa: PTH115, PTH123, PTH208

from __future__ import annotations

import contextlib
import os
import signal
import time

_ROUNDS, _PAUSE = 100, 0.02
_ENGINES = {"conmon", "crun", "docker", "podman", "runc"}
"""Programs of container engines: they end with their container and remove it, if they are left alone."""

_SCRIPT = 'chmod -R u+rwx "$0"; exec rm -rf -- "$0"'


def kill_processes(folder: str) -> None:
    """Kill every process of the run, until a round finds none."""
    for _ in range(_ROUNDS):
        pids = [pid for pid in all_pids() if _belongs(pid, folder)]
        if not pids:
            return
        for pid in pids:
            with contextlib.suppress(OSError):
                handle = os.pidfd_open(pid)
                try:
                    if _belongs(pid, folder):  # the pid may have been reused before it was opened
                        signal.pidfd_send_signal(handle, signal.SIGKILL)
                finally:
                    os.close(handle)


def remove_run_folder(folder: str) -> None:
    """Kill the processes of the run and remove its folder, again and again until nothing is left of them."""
    quiet = 0
    for _ in range(_ROUNDS):
        kill_processes(folder)
        quiet = 0 if os.path.lexists(folder) else quiet + 1
        if quiet == 2:  # a process that was just being started may have created it again
            return
        if not quiet:
            null = (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)
            pid = os.posix_spawn("/bin/sh", ["sh", "-c", _SCRIPT, folder], {"PATH": os.defpath}, file_actions=[null])
            os.waitpid(pid, 0)
        time.sleep(_PAUSE)


def _belongs(pid: int, folder: str) -> bool:
    """Whether a living process has the folder, or a path in it, in its environment, or works in it."""
    name = os.fsencode(folder)
    values = [line.partition(b"=")[2] for line in read_proc(pid, "environ").split(b"\0")]
    with contextlib.suppress(OSError):
        values.append(os.fsencode(os.readlink(f"/proc/{pid}/cwd")))
    alive = read_proc(pid, "stat").rpartition(b")")[2].split()[:1] not in ([], [b"Z"], [b"X"])
    ours = pid != os.getpid() and alive and not _is_engine(pid)
    return ours and any(value == name or value.startswith(name + b"/") for value in values)


def _is_engine(pid: int) -> bool:
    """Whether a process is an installed program of a container engine, which no agent can replace."""
    with contextlib.suppress(OSError):
        folder, _, program = os.readlink(f"/proc/{pid}/exe").rpartition("/")
        return folder.startswith("/usr/") and program in _ENGINES
    return False


def all_pids() -> list[int]:
    """The pids of all processes; none where there is no /proc."""
    with contextlib.suppress(FileNotFoundError):
        return [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return []


def read_proc(pid: int, name: str) -> bytes:
    """A file in /proc of a process; empty when there is none."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/{name}", "rb") as file:
        return file.read()
    return b""
