"""The folder of a killed run is removed, although programs of that run go on filling it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from demeanor.sandboxes.supervisor.run_folder import remove_run_folder
from tests.sandboxes.conftest import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")

FILL = 'while :; do mkdir -p "$0/$$/a/b/c"; : > "$0/$$/a/b/c/file" ; done 2>/dev/null'


def test_programs_that_fill_the_folder_are_ended_first(tmp_path: Path) -> None:
    """As git does, which Demeanor starts to prepare a workspace: one works in the folder, one has it in its HOME."""
    folder = tmp_path / "run"
    folder.mkdir()
    fillers = [
        subprocess.Popen(["sh", "-c", FILL, str(folder)], cwd=folder),
        subprocess.Popen(["sh", "-c", FILL, str(folder)], cwd="/", env={**os.environ, "HOME": str(folder)}),
    ]
    try:
        wait_until(lambda: all((folder / str(filler.pid)).exists() for filler in fillers))
        remove_run_folder(str(folder))
        assert not folder.exists()
        assert [filler.wait(120) for filler in fillers] == [-9, -9]
    finally:
        for filler in fillers:
            filler.kill()
            filler.wait()
