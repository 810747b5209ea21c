"""Standard output and standard error that never stop a command.

A reader that goes away (`demeanor run | head -1`, a closed terminal) ends the output, not the run, and does not change
the exit code. Output that is lost for another reason (a full disk, a closed stream) is remembered, because a report
that was not written is not a success.
"""

from __future__ import annotations

import errno
import io
import os
import select
import stat
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from typing_extensions import Buffer

    from demeanor.core.text.ci_commands import CommandFilter

_SERVICES = ("GITHUB_ACTIONS", "TF_BUILD", "TEAMCITY_VERSION", "GITLAB_CI", "BUILDKITE")
_READER_GONE = {errno.EPIPE, errno.ECONNRESET}


class _Text(io.TextIOWrapper):
    """A text stream whose text a CI service can't take for commands. What goes to a file is left as it is."""

    commands: CommandFilter | None = None

    def write(self, text: str, /) -> int:
        """Write text, with commands escaped."""
        super().write(self.commands(text) if self.commands else text)
        return len(text)


class _Output(io.FileIO):
    """A file descriptor whose write errors are remembered instead of raised."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd, "w", closefd=False)
        self.problem: OSError | None = None
        self._terminal = self.isatty()

    def write(self, data: Buffer, /) -> int:
        """Write, or pretend to after the first error."""
        size = memoryview(data).nbytes
        if self.problem is not None:
            return size
        try:
            while (written := super().write(data)) is None:
                select.select([], [self.fileno()], [])  # a pipe that its owner made non-blocking is full
        except OSError as error:
            self.problem = error
            return size
        return written

    @property
    def lost(self) -> str | None:
        """Why output was lost; None if it was not, or if only its reader has gone."""
        if self.problem is None or self.problem.errno in _READER_GONE:
            return None
        if self.problem.errno == errno.EIO and self._terminal:
            return None
        return os.strerror(self.problem.errno or 0)


def install_streams(environ: Mapping[str, str]) -> Callable[[], str | None]:
    """Replace `sys.stdout` and `sys.stderr`. Closed descriptors are opened on /dev/null first, so that no file of the
    run gets their number; writing to them stays an error.

    Returns a function that flushes standard output and says why some of it was lost; None if all was written, or if
    only its reader has gone.
    """
    missing = [fd for fd in (0, 1, 2) if not _is_open(fd)]
    for fd in missing:
        null = os.open(os.devnull, os.O_RDONLY)
        if null != fd:
            os.dup2(null, fd)
            os.close(null)
    output, errors = _Output(1), _Output(2)
    sys.stdout = _text(sys.stdout, output, environ)
    sys.stderr = _text(sys.stderr, errors, environ)

    def lost() -> str | None:
        sys.stdout.flush()
        return output.lost

    return lost


def _text(old: object, raw: _Output, environ: Mapping[str, str]) -> io.TextIOWrapper:
    """A text stream with the encoding and buffering of the one that it replaces."""
    text = _Text(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace")
    if isinstance(old, io.TextIOWrapper):
        old.flush()
        text.reconfigure(
            encoding=old.encoding,
            errors=old.errors if old.errors not in (None, "strict") else "backslashreplace",
            line_buffering=old.line_buffering or old.write_through,  # of PYTHONUNBUFFERED, which has no effect on `raw`
            write_through=old.write_through,
        )
    if any(environ.get(name) for name in _SERVICES) and not stat.S_ISREG(os.fstat(raw.fileno()).st_mode):
        from demeanor.core.text.ci_commands import CommandFilter

        text.commands = CommandFilter(environ)
    return text


def _is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True
