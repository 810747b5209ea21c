"""Temporary folders that are gone also if this process is killed.

A process that does nothing but wait for that removes the folder, and ends first what still works in it
(sandboxes/supervisor/run_folder.py, which is another program).
"""

from __future__ import annotations

import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from demeanor.core.signals import signals_deferred

_PROGRAM = """
import subprocess, sys
sys.path.insert(0, sys.argv[1])
from demeanor.sandboxes.supervisor.run_folder import remove_run_folder
if not sys.stdin.buffer.read(1):
    remove_run_folder(sys.argv[2])
    if sys.argv[3:]:
        subprocess.run(sys.argv[3:])
"""
_PACKAGES = str(Path(__file__).parents[3])
_REMOVED = b"x"


@contextmanager
def guarded_folder(prefix: str, *, parent: str | None = None, then: Sequence[str] = ()) -> Iterator[Path]:
    """A new folder, removed at the end of the block. If this process is killed before that, another one removes it and
    runs the command `then`."""
    folder = Path(parent or tempfile.gettempdir()).resolve() / f"{prefix}{secrets.token_hex(4)}"
    remover: subprocess.Popen[bytes] | None = None
    try:
        with signals_deferred():  # an interrupted Popen would leave an untracked process
            remover = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _PROGRAM, _PACKAGES, str(folder), *then],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if remover is not None:
            remover.communicate(b"" if folder.exists() else _REMOVED)
