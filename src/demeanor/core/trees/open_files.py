"""The limit of open files (`ulimit -n`): checked before a run, and never mistaken for a missing file."""

from __future__ import annotations

import errno

from demeanor.core.values.errors import UsageError

_PROGRAM = 40
"""How many files Demeanor has open itself."""

_TRIAL = 8
"""How many files a running trial adds: its supervisor, its gateway's connections, its output, its check."""

_LEAST = 64
"""A supervisor uses file descriptors up to 52."""

_noted: list[str] = []

REMEDY = "raise the limit with ulimit -n, or run fewer trials at a time with --jobs"


def out_of_files(error: BaseException | None) -> bool:
    """Whether an error says that no more files can be opened. It is never the agent's doing, and is no reason to take
    a file for missing."""
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)


def note_shortage(what: str) -> None:
    """Note that something could not be opened on behalf of a program that does not learn why."""
    _noted.append(what)


def shortages() -> int:
    """How often that was noted in this process."""
    return len(_noted)


def require_open_files(jobs: int = 1) -> None:
    """Raise UsageError if this process may not open as many files as a run with so many trials at a time needs."""
    import resource

    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    needed = max(_LEAST, _PROGRAM + _TRIAL * jobs)
    if limit != resource.RLIM_INFINITY and limit < needed:
        fewer = (limit - _PROGRAM) // _TRIAL
        remedy = f"ulimit -n {needed}" + (f", or --jobs {fewer}" if limit >= _LEAST else "")
        raise UsageError(
            f"too few files can be open at a time: the limit (ulimit -n) is {limit}, and {jobs} "
            f"{'trial needs' if jobs == 1 else 'trials at a time need'} {needed}\n  → {remedy}"
        )
