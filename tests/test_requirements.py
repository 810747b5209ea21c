"""The three sets of requirements (demo, tests, docs) can be installed with every supported Python.

uv resolves them without installing anything. It needs a package index, and ignores the configuration of pip: set
UV_DEFAULT_INDEX to use another index than uv's.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NEWEST = "3.14"


def run(*argv: str) -> None:
    """Run a program that starts uv, or fail with its message."""
    env = {"UV_SYSTEM_CERTS": "true"} | {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}\n(uv needs a package index: $UV_DEFAULT_INDEX, or its default)"


def resolve(version: str, pins: str, *requirements: str) -> None:
    """Resolve requirements with pins for a version of Python, with wheels only: nothing has to be compiled."""
    run(
        sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--only-binary", ":all:", "--python-version", version,
        "--constraint", pins, *requirements,
    )  # fmt: skip


@pytest.mark.parametrize("version", ["3.11.0", NEWEST])
def test_the_sets_resolve(version: str) -> None:
    """All at once: then each of them does, because a part of a solution is one as well."""
    resolve(version, "constraints.txt", "pyproject.toml", "--extra", "local", "--extra", "tests", "--extra", "docs")


@pytest.mark.parametrize("version", ["3.12.0", NEWEST])
def test_harbors_environment_resolves(version: str, tmp_path: Path) -> None:
    """It has pins of its own, and needs a newer Python (tools/harbor.sh)."""
    (tmp_path / "harbor.in").write_text("harbor\n")
    resolve(version, "constraints-harbor.txt", "pyproject.toml", str(tmp_path / "harbor.in"))


def test_every_requirement_is_pinned(tmp_path: Path) -> None:
    """`make constraints` changes nothing."""
    pins = tmp_path / "constraints.txt"
    shutil.copy(ROOT / "constraints.txt", pins)
    run("make", "constraints", f"BIN={sys.prefix}/bin", f"PINS={pins}", "--old-file=.venv/.ready-tests")
    assert pins.read_text("utf-8") == (ROOT / "constraints.txt").read_text("utf-8"), "→ make constraints"
