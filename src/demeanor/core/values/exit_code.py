"""The exit codes of `demeanor`."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of `demeanor`; CI can rely on them."""

    ACCEPTED = 0
    """Every decision is accept, or the command succeeded."""

    REJECTED = 1
    """At least one decision is reject, or a validation found a fault."""

    USAGE = 2
    """The command or its input is invalid. Nothing was run, written or spent."""

    UNDECIDED = 3
    """Nothing was rejected, but a cell has too few judged trials, the run was stopped, or nothing could run."""

    REFUSED = 4
    """`demeanor fix`: the agent's patch breaks a rule, so it was not tested."""

    BROKEN = 70
    """Demeanor itself failed, or its report could not be written: a full disk, a closed stream, a bug, or invalid input
    that was found only after something had been run. This is not a verdict."""

    INTERRUPTED = 130
    """Stopped by Ctrl-C, SIGTERM or SIGHUP. Finished trials are kept and the run can be resumed."""
