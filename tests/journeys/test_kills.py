"""Nothing survives a run that is killed with SIGKILL: a short version of benchmarks/kills.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

KILLS = Path(__file__).parents[2] / "benchmarks/kills.py"


@pytest.mark.parametrize(
    ("sandbox", "who"), [("bubblewrap", "main"), ("bubblewrap", "all"), ("landlock", "main"), ("landlock", "all")]
)
def test_nothing_is_left_after_kill_9(sandbox: str, who: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Once at any moment, and once while agents run."""
    cache = tmp_path_factory.getbasetemp() / "cache-of-kills"  # probing takes seconds
    cache.mkdir(exist_ok=True)
    options = ("--count", "2", "--jobs", "2", "--sandbox", sandbox, "--who", who, "--grace", "120")
    words = [sys.executable, KILLS, *options, "--cache", cache]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "something was left after 0" in done.stdout
