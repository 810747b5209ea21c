"""A real browser: Debian's chromium, driven by Playwright; and axe-core from npm, kept in the user's cache."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

AXE = "axe-core@4.14.0"
PATIENCE = 120_000.0
"""Milliseconds to wait for the browser: a busy machine is slow."""
_CHROMIUM = next((found for name in ("chromium", "chromium-browser") if (found := shutil.which(name))), None)


@contextmanager
def browser() -> Iterator[Any]:
    """A browser. Skips loudly where there is none, or none that starts: `make browser` installs it."""
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        pytest.skip("NO BROWSER TESTS: Playwright is not installed; make browser installs it")
    if _CHROMIUM is None:
        pytest.skip("NO BROWSER TESTS: chromium is not installed; make browser installs it")
    with sync_playwright() as playwright:
        # As root, chromium refuses its own sandbox. It loads only pages of our own server.
        options = ["--no-sandbox", "--disable-dev-shm-usage"]
        try:
            found = playwright.chromium.launch(executable_path=_CHROMIUM, args=options, timeout=PATIENCE)
        except Error as error:
            pytest.skip(f"NO BROWSER TESTS: {_CHROMIUM} does not start on this machine: {error.message[:300]}")
        try:
            yield found
        finally:
            found.close()


def axe_script() -> str:
    """The script of axe-core, downloaded once."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "demeanor-tests"
    cache.mkdir(parents=True, exist_ok=True)
    path = cache / f"{AXE.replace('@', '-')}.min.js"
    with (cache / "axe.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            npm = shutil.which("npm")
            if npm is None:
                pytest.skip("NO ACCESSIBILITY TESTS: npm is not installed, so axe-core can't be downloaded")
            done = subprocess.run(
                [npm, "pack", AXE], cwd=cache, capture_output=True, text=True, timeout=300, check=False
            )
            if done.returncode:
                pytest.skip(f"NO ACCESSIBILITY TESTS: npm can't download {AXE}: {done.stderr[-300:]}")
            with tarfile.open(cache / done.stdout.split()[-1]) as archive:
                member = archive.extractfile("package/axe.min.js")
                assert member is not None
                path.write_bytes(member.read())
    return path.read_text("utf-8")
