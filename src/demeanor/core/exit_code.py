"""What the exit code of a command means."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of `demeanor`; CI can rely on them."""

    ACCEPTED = 0
    """Every decision is accept, or the command did what it was asked to do."""

    REJECTED = 1
    """At least one decision is reject, or a validation found a fault."""

    USAGE = 2
    """The command can't be carried out as asked; nothing was run and nothing was spent."""

    UNDECIDED = 3
    """Nothing was rejected, but at least one cell has only voids (or nothing could run): no verdict was possible."""

    REFUSED = 4
    """What an agent did to mend something breaks a rule, so it was not even tried (`demeanor fix`)."""

    BROKEN = 70
    """Demeanor itself could not go on: a disk that is full, or a bug. Never to be taken for a verdict."""

    INTERRUPTED = 130
    """Stopped by Ctrl-C; what was finished is kept and can be resumed."""
