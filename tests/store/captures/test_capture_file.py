"""The raw captures of a run."""

from __future__ import annotations

import gzip
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from demeanor.core.errors import StoreError
from demeanor.store.captures.capture_file import CaptureFile


def test_each_capture_is_found_again_whoever_wrote_at_the_same_time(tmp_path: Path):
    """Threads append in any order; each gets its own place."""
    captures = CaptureFile(tmp_path / "c.gz")
    lines = [f"{number} ".encode() * (number + 1) + b"\n" for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        places = list(pool.map(captures.append, lines))
    assert [captures.read(place) for place in places] == lines


def test_the_whole_file_can_be_read_with_ordinary_tools(tmp_path: Path):
    """Compressed lines in a row are a compressed file."""
    captures = CaptureFile(tmp_path / "c.gz")
    captures.append(b"one\n")
    captures.append(b"two\n")
    captures.close()
    with gzip.open(tmp_path / "c.gz") as file:
        assert file.read() == b"one\ntwo\n"


def test_a_damaged_capture_is_an_error_that_says_where(tmp_path: Path):
    """Never taken for another one."""
    captures = CaptureFile(tmp_path / "c.gz")
    place = captures.append(b"one\n")
    (tmp_path / "c.gz").write_bytes(b"x" * 10)
    with pytest.raises(StoreError, match="the capture at byte 0 can't be read"):
        captures.read(place)
