"""`make` with a Python that can't be used: the first line says which one is needed, whatever the target."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def make(target: str, python: Path, venv: Path) -> subprocess.CompletedProcess[str]:
    """Run make with a Python and an environment that does not exist yet."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(
        ["make", target, f"PYTHON={python}", f"VENV={venv}"], cwd=ROOT, env=env, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("target", ["demo", "test", "check", "site", "env"])
def test_an_old_python_is_refused(target: str, tmp_path: Path) -> None:
    """Before anything is installed."""
    python = tmp_path / "python3"
    code = "import sys; sys.version_info = (3, 10, 13, 'final', 0); exec(sys.argv[1])"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{code}" "$2"\n')
    python.chmod(0o755)
    done = make(target, python, tmp_path / "venv")
    assert done.returncode == 2
    assert done.stdout.splitlines()[0] == f"Demeanor needs Python 3.11 or newer: {python} is Python 3.10.13"
    assert "make PYTHON=python3.12" in done.stdout
    assert not (tmp_path / "venv").exists()


def test_a_missing_python_is_reported(tmp_path: Path) -> None:
    """The same for one that does not start."""
    done = make("demo", tmp_path / "python3", tmp_path / "venv")
    assert done.returncode == 2
    assert done.stdout.splitlines()[0] == f"Demeanor needs Python 3.11 or newer: {tmp_path}/python3 does not start"
