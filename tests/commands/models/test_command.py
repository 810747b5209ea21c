"""`demeanor models fetch`: what it needs first, and the progress of its download."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import io
import os
import re
import struct
import sys
import termios
import threading
from pathlib import Path

import pytest

from demeanor.commands.models.command import run, show_progress
from demeanor.core.values.errors import UsageError
from demeanor.gateway.local.download import FetchProgress
from demeanor.gateway.local.weights import QWEN

STEP = "the publisher's download"


def read_all(terminal: int, chunks: list[bytes]) -> None:
    """Read what is shown on a terminal until its other side is closed."""
    with contextlib.suppress(OSError):
        while chunk := os.read(terminal, 2**16):
            chunks.append(chunk)


@pytest.mark.parametrize(("columns", "speed"), [(60, False), (100, True)])
def test_a_terminal_shows_a_bar_with_the_size_and_the_time_left(columns: int, speed: bool) -> None:
    """On one line of the terminal, also of a narrow one; there is room for the speed on a wide one."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    chunks: list[bytes] = []
    reader = threading.Thread(target=read_all, args=(ours, chunks))
    reader.start()
    with (
        open(theirs, "w", encoding="utf-8") as terminal,  # noqa: PTH123 - a descriptor, not a path
        show_progress(QWEN, terminal, begun=300_000_000) as show,
    ):
        show(FetchProgress(step=STEP, done=600_000_000))
    reader.join()
    os.close(ours)
    shown = b"".join(chunks).decode()
    lines = [line for line in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).split("\r") if line.strip()]
    assert all(len(line.strip("\n")) <= columns for line in lines)
    assert re.search(rf"^{STEP} +[━╸╺]{{5,}} 600 of 1,117 MB (\S+ \wB/s |\? )?[-\d]:[-\d]+:[-\d]+$", lines[-1].strip())
    assert ("B/s" in lines[-1] or "?" in lines[-1]) == speed


def test_elsewhere_a_line_is_printed_every_few_seconds() -> None:
    """However often progress is reported; a resumed download does not look faster than it is."""
    stream, seconds = io.StringIO(), iter(range(100))
    with show_progress(QWEN, stream, begun=0, clock=lambda: float(next(seconds))) as show:
        for done in range(500, 500 + 25 * 10, 10):
            show(FetchProgress(step=STEP, done=done * 1_000_000))
        show(FetchProgress(step="verifying", done=QWEN.size))
    assert stream.getvalue().splitlines() == [
        f"qwen2.5-coder-1.5b: {STEP}, 500 of 1,117 MB",
        f"qwen2.5-coder-1.5b: {STEP}, 600 of 1,117 MB, about 52 s left",
        f"qwen2.5-coder-1.5b: {STEP}, 700 of 1,117 MB, about 42 s left",
        "qwen2.5-coder-1.5b: verifying, 1,117 of 1,117 MB",
    ]


def test_without_the_runtime_nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The remedy comes before a gigabyte, not after it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "xllamacpp", None)  # as if it were not installed
    with pytest.raises(UsageError, match="the runtime for local models is not installed\n  → "):
        run(argparse.Namespace(action="fetch", name=None))
    assert list(tmp_path.iterdir()) == []
