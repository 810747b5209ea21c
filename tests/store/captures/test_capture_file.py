"""The raw captures of a run."""

from __future__ import annotations

import gzip
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from demeanor.core.values.errors import StoreError
from demeanor.store.captures.capture_file import CaptureFile


def test_concurrent_appends_do_not_mix(tmp_path: Path):
    """Each thread gets the position of its own capture."""
    captures = CaptureFile(tmp_path / "c.gz")
    lines = [f"{number} ".encode() * (number + 1) + b"\n" for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        positions = list(pool.map(captures.append, lines))
    assert [captures.read(position) for position in positions] == lines


def test_the_whole_file_can_be_read_with_ordinary_tools(tmp_path: Path):
    """The compressed lines together are a gzip file."""
    captures = CaptureFile(tmp_path / "c.gz")
    captures.append(b"one\n")
    captures.append(b"two\n")
    captures.close()
    with gzip.open(tmp_path / "c.gz") as file:
        assert file.read() == b"one\ntwo\n"


def test_a_damaged_capture_is_an_error_with_its_position(tmp_path: Path):
    """With the path of the file."""
    captures = CaptureFile(tmp_path / "c.gz")
    position = captures.append(b"one\n")
    (tmp_path / "c.gz").write_bytes(b"x" * 10)
    with pytest.raises(StoreError, match="the capture at byte 0 is damaged"):
        captures.read(position)
