"""Whether this command has run or written something. Exit code 2 promises that it has not."""

from __future__ import annotations

_started = False


def mark_started() -> None:
    """From now on, invalid input that is found too late is exit code 70, not 2."""
    global _started  # noqa: PLW0603 - one command per process, and every command must keep the promise
    _started = True


def has_started() -> bool:
    """Whether something was run or written."""
    return _started


def reset() -> None:
    """A new command begins."""
    global _started  # noqa: PLW0603
    _started = False
