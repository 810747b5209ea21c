"""Limits of the machine that an agent runs into: they are never its own failure.

The kernel counts the processes that it refused to a control group, and those that it killed because the memory of the
machine was short. The limits of the trial itself are not among them: processes are limited by RLIMIT_NPROC, and a kill
in the trial's own group is seen by its supervisor.
"""

from __future__ import annotations

import contextlib
import re
import signal
from dataclasses import dataclass
from pathlib import Path

from demeanor.core.trees import open_files
from demeanor.core.values.process import ProcessEnd

_COUNT = re.compile(r"^(?:max|oom_kill) (\d+)$", re.MULTILINE)
_KILLED = (-signal.SIGKILL, 128 + signal.SIGKILL)
_LESS = "run fewer trials at a time with --jobs, or raise the limit"


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusals:
    """What this machine has refused since it was started."""

    processes: int = 0
    """Processes and threads that our control group and those above it could not start."""

    killed: int = 0
    """Processes that were killed because memory was short."""

    files: int = 0
    """How often the gateway could not accept connections, because too many files were open."""

    def reason(self, before: Refusals, end: ProcessEnd) -> str | None:
        """Which limit of the machine was reached while a program ran that failed; None if none that explains it."""
        if end.ended_by != "exit":
            return None
        if self.files > before.files:
            return f"too many open files, so the gateway could not accept connections: {open_files.REMEDY}"
        if self.processes > before.processes:
            return f"this machine could start no more processes while the agent ran: {_LESS} (pids.max)"
        killed = end.signal == signal.SIGKILL or end.exit_code in _KILLED
        if killed and self.killed > before.killed:
            return f"this machine ran out of memory while the agent ran, and processes were killed: {_LESS}"
        return None


def refusals(groups: Path = Path("/sys/fs/cgroup"), proc: Path = Path("/proc")) -> Refusals:
    """What this machine has refused until now; what can't be read counts as nothing."""
    paths: dict[str, Path] = {}
    with contextlib.suppress(OSError, ValueError):
        for line in (proc / "self/cgroup").read_text().splitlines():
            _, kinds, path = line.split(":", 2)
            paths |= dict.fromkeys(kinds.split(","), Path(path.lstrip("/")))
    top, own = (groups / "pids", paths["pids"]) if "pids" in paths else (groups, paths.get("", Path()))
    above = [top / folder / "pids.events" for folder in (own, *own.parents)]
    return Refusals(
        processes=sum(map(_count, dict.fromkeys(above))),
        killed=_count(proc / "vmstat"),
        files=open_files.shortages(),
    )


def _count(path: Path) -> int:
    with contextlib.suppress(OSError):
        match = _COUNT.search(path.read_text())
        return int(match[1]) if match else 0
    return 0
