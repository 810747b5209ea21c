"""Temporary folders that are gone also if their process is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from demeanor.core.trees.guarded_folder import guarded_folder

PROGRAM = """
import subprocess, sys
from demeanor.core.trees.guarded_folder import guarded_folder
with guarded_folder("guarded-", parent=sys.argv[1], then=("touch", sys.argv[2])) as folder:
    (folder / "file").write_text("x")
    subprocess.Popen(["sh", "-c", "while :; do date > more; sleep 0.1; done"], cwd=folder)
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that holds such a folder, in which another one writes."""
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), str(tmp_path / "then")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_a_killed_process_leaves_no_folder(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    """Nor what worked in it; and the command is run."""
    assert holder.stdout
    folder = Path(holder.stdout.readline().strip())
    assert (folder / "file").exists()
    os.kill(holder.pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while not (tmp_path / "then").exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert [path.name for path in tmp_path.iterdir()] == ["then"]


def test_a_folder_ends_with_its_block(tmp_path: Path) -> None:
    """Without the command, which is for a killed process."""
    with guarded_folder("guarded-", parent=str(tmp_path), then=("touch", str(tmp_path / "then"))) as folder:
        (folder / "file").write_text("x")
    assert list(tmp_path.iterdir()) == []
