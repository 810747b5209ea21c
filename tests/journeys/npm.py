"""Real agents from npm, each in an exact version, installed once into the user's cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

GOOSE = "@aaif/goose-binary-linux-x64@1.52.0"
PI = "@mariozechner/pi-coding-agent@0.73.1"


def installed(package: str) -> Path:
    """The folder `node_modules` that holds a package; what can't be installed is an error, not a skip."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "holdfast-test-agents"
    folder = cache / package.strip("@").replace("/", "-")
    if not folder.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        half = Path(tempfile.mkdtemp(dir=cache, prefix=".half-"))
        command = ["npm", "install", "--prefix", str(half), "--no-audit", "--no-fund", "--ignore-scripts", package]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, f"npm can't install {package}:\n{done.stdout}{done.stderr}"
        try:
            half.rename(folder)
        except OSError:  # another worker was quicker
            shutil.rmtree(half)
    return folder / "node_modules"
