"""What /proc says about processes that may end at any moment: one that has ended has no command line, parent or child.

Tests read /proc through these functions only: a process can vanish between finding it and reading its files.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path


def others() -> Iterator[int]:
    """Every process on this machine but this one."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            yield int(entry.name)


def with_command(text: str) -> list[int]:
    """The processes whose command line contains a text."""
    return [pid for pid in others() if text in command_line(pid)]


def with_environ(text: str) -> list[int]:
    """The processes whose environment contains a text."""
    return [pid for pid in others() if text in read(pid, "environ")]


def working_in(folder: Path) -> list[int]:
    """The processes that run and whose working folder is this one or below it."""
    return [pid for pid in others() if alive(pid) and working_folder(pid).is_relative_to(folder)]


def working_folder(pid: int) -> Path:
    """Where a process works; an empty path if it has ended."""
    try:
        return Path(f"/proc/{pid}/cwd").readlink()
    except OSError:
        return Path()


def read(pid: int | str, name: str) -> str:
    """A file below /proc/PID; empty if the process has ended."""
    try:
        return Path(f"/proc/{pid}/{name}").read_text(errors="replace")
    except OSError:
        return ""


def alive(pid: int | str) -> bool:
    """Whether a process is running; a zombie is not."""
    return _stat(pid)[:1] not in ([], ["Z"], ["X"])


def state(pid: int) -> str:
    """The state of a process as `ps` shows it; empty if it has ended."""
    return (_stat(pid) or [""])[0]


def open_files(pid: int) -> set[str]:
    """What the descriptors of a process refer to: paths, `pipe:[…]`, `socket:[…]`; empty if it has ended."""
    found = set()
    with contextlib.suppress(OSError):
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                found.add(str(descriptor.readlink()))
    return found


def parent(pid: int) -> int:
    """The process that a process belongs to; 0 if it has ended."""
    return int((_stat(pid) or ["", "0"])[1])


def command_line(pid: int) -> str:
    """The words of a process, each followed by a zero byte; empty for a moment while a program starts."""
    return read(pid, "cmdline")


def children(pid: int) -> list[int]:
    """The children of a process at this moment; some can be missed while others come and go."""
    try:
        tasks = [task.name for task in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []
    return [int(word) for task in tasks for word in read(pid, f"task/{task}/children").split()]


def descendants(pid: int) -> list[int]:
    """The children of a process, their children, and so on."""
    found, generation = [], [pid]
    while generation := [child for one in generation for child in children(one)]:
        found += generation
    return found


def cpu_seconds(pid: int) -> float:
    """The CPU time so far of a process, its children that have ended, and those that still run."""
    ticks = 0
    for member in (pid, *descendants(pid)):
        ticks += sum(map(int, _stat(member)[11:15]))  # utime, stime, cutime, cstime
    return ticks / os.sysconf("SC_CLK_TCK")


def _stat(pid: int | str) -> list[str]:
    """The fields of /proc/PID/stat after the name: state, parent, …"""
    return read(pid, "stat").rpartition(")")[2].split()
