"""What a program says of itself when it is asked for its version; asked once, however many trials it runs."""

from __future__ import annotations

import subprocess
from functools import cache

_PATIENCE = 30.0


@cache
def told_version(words: tuple[str, ...]) -> str | None:
    """The first line that a command prints; None where it prints none, can't be started, or never ends."""
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return next((line.strip() for line in done.stdout.splitlines() if line.strip()), None)
