"""Removes what earlier runs left whose Demeanor, fork server and supervisors were all killed at once, and other
temporary folders of a Demeanor that was killed.

A run is recognised by its own marks only: its folder, whose name has the process that created it, and processes that
carry the folder's path in their environment or work in it. A run whose owner or fork server lives is
left alone, and so is everything of other users.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from demeanor.core.trees.temp_names import owner_is_dead
from demeanor.sandboxes.host.copytree import remove
from demeanor.sandboxes.supervisor.run_folder import all_pids, kill_processes, read_proc


def remove_stale_runs(root: Path) -> None:
    """Kill the processes and remove the folders of runs in `root` of which nothing else is alive."""
    if not Path("/proc/self/stat").exists():
        return
    for folder in root.glob("demeanor-*"):
        with contextlib.suppress(OSError):  # another run removes it too
            if owner_is_dead(folder.name) and _is_stale(folder):
                kill_processes(str(folder))
                remove(str(folder))


def _is_stale(folder: Path) -> bool:
    own = not folder.is_symlink() and folder.stat().st_uid == os.getuid()
    return own and not _fork_server_lives(folder)


def _fork_server_lives(folder: Path) -> bool:
    name = os.fsencode(folder)
    return any(name in read_proc(pid, "cmdline").split(b"\0") for pid in all_pids())
