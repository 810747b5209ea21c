"""The memory of processes, measured by polling."""

from __future__ import annotations

import mmap
import os

import pytest

from demeanor.sandboxes.supervisor.memory_watch import MemoryWatch

_SIZE = 32 * 2**20


@pytest.mark.parametrize("mapped", [False, True])
def test_files_in_memory_are_counted_once(mapped: bool) -> None:
    """Whether they are mapped or not, and however many descriptors they have."""
    before = MemoryWatch(2**40)
    before.exceeded([os.getpid()])
    file = os.memfd_create("large")
    try:
        copy = os.dup(file)
        os.write(file, b"x" * _SIZE)
        place = mmap.mmap(file, _SIZE) if mapped else None
        seen = sum(place[at] for at in range(0, _SIZE, mmap.PAGESIZE)) if place else 0
        after, group = MemoryWatch(2**40), MemoryWatch(2**40, open_files=False)
        after.exceeded([os.getpid()])
        group.exceeded([os.getpid()])
        assert bool(seen) is mapped
        assert 0.8 * _SIZE < after.peak - before.peak < 1.2 * _SIZE
        assert (group.peak - before.peak > 0.8 * _SIZE) is mapped
    finally:
        os.close(file)
        os.close(copy)


def test_a_process_that_has_ended_counts_nothing() -> None:
    """It may end between two reads."""
    pid = os.posix_spawn("/bin/true", ["true"], {})
    os.waitpid(pid, 0)
    watch = MemoryWatch(2**40)
    assert not watch.exceeded([pid])
    assert watch.peak == 0
