"""Atomic files: written by many at once, replaced whole, nothing left after a failure."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from demeanor.core.trees.atomic_file import atomic_file, write_atomically, write_output, write_pieces


def test_threads_can_write_the_same_file_at_once(tmp_path: Path) -> None:
    path, together = tmp_path / "f", Barrier(8, timeout=60)

    def write(number: int) -> None:
        with atomic_file(path) as temporary:
            temporary.write_text(f"{number}" * 1000)
            together.wait()  # all of them have written, none has replaced

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))

    assert path.read_text() in {f"{number}" * 1000 for number in range(8)}
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_content_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write_atomically(path, "old")

    def write_half() -> None:
        with atomic_file(path) as temporary:
            temporary.write_text("half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write_half()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", ["ä\n\r\n", b"\x00\xff"])
def test_content_is_written_as_it_is(tmp_path: Path, content: str | bytes) -> None:
    write_atomically(tmp_path / "f", content)
    written = (tmp_path / "f").read_bytes()
    assert written == (content.encode() if isinstance(content, str) else content)


def test_pieces_are_written_as_they_come(tmp_path: Path) -> None:
    """A failure on the way leaves the old content."""
    path = tmp_path / "f"
    write_pieces(path, iter(["é", "", "b"]))
    assert path.read_text("utf-8") == "éb"

    def failing() -> Iterator[str]:
        yield "half"
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        write_pieces(path, failing())
    assert path.read_text("utf-8") == "éb"
    assert list(tmp_path.iterdir()) == [path]


def test_output_goes_through_a_pipe_or_link_that_the_user_names(tmp_path: Path) -> None:
    """The pipe, which stands for /dev/stdout here, and the link are still there afterwards."""
    pipe, link, target = tmp_path / "pipe", tmp_path / "link", tmp_path / "target"
    os.mkfifo(pipe)
    link.symlink_to(target)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_output(pipe, "ä")
    write_output(link, "ä")
    assert os.read(reader, 10) == "ä".encode()
    assert pipe.is_fifo()
    assert (link.is_symlink(), target.read_text("utf-8")) == (True, "ä")
    os.close(reader)
