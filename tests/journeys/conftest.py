"""A project of its own for each journey, and the command line as a user starts it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]


class Project:
    """A user's folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder.parent / "home"),
            "TMPDIR": str(folder.parent / "tmp"),
        }
        (folder.parent / "home/.cache/demeanor").mkdir(parents=True)
        probes = folder.parent.parent / "probes"  # found out once, and not in each journey
        probes.mkdir(exist_ok=True)
        (folder.parent / "home/.cache/demeanor/probes").symlink_to(probes)
        (folder.parent / "tmp").mkdir()
        folder.mkdir()

    def write(self, **files: str) -> None:
        """Write files; `evals__eval_a_py` stands for `evals/eval_a.py`."""
        for name, text in files.items():
            folder, _, rest = name.rpartition("__")
            stem, _, ending = rest.rpartition("_")
            path = self.folder / folder.replace("__", "/") / f"{stem}.{ending}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def command(self, *words: str) -> list[str]:
        """A demeanor command line."""
        return [sys.executable, "-m", "demeanor", *words]

    def demeanor(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            self.command(*words), cwd=self.folder, env={**self.env, **env}, capture_output=True, text=True, timeout=600,
            check=False,
        )  # fmt: skip

    def pytest(self, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
        """Run pytest as a user does."""
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words], cwd=self.folder,
            env={**self.env, **env}, capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip

    def temporary(self) -> list[str]:
        """What lies in the project's temp folder."""
        return sorted(path.name for path in (self.folder.parent / "tmp").iterdir())


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """An empty folder."""
    return Project(tmp_path / "project")
