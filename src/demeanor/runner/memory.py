"""Keeps the memory of this process flat over a long run, whatever agents send.

Two defaults let it grow. The allocator of glibc serves large blocks from its heaps once it has seen some of them freed,
with a heap for each of many threads; the holes between them add up. And a full garbage collection waits until a quarter
of all objects is new, which hundreds of thousands of objects from start-up delay; meanwhile closed connections, which
refer to one another, keep the requests they received.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
from collections.abc import Iterator

_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Parameters of glibc's mallopt."""

_LARGE_BLOCK = 256 * 1024
_SPARE = 2**20
_ARENAS = 2
_COLLECTIONS = (10_000, 10, 5)


def return_freed_memory() -> None:
    """Let the allocator return large blocks to the system as soon as they are freed; glibc only."""
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError, OSError):  # another C library
            mallopt = ctypes.CDLL(None).mallopt
            mallopt(_MMAP_THRESHOLD, _LARGE_BLOCK)
            mallopt(_TRIM_THRESHOLD, _SPARE)
            mallopt(_ARENA_MAX, _ARENAS)


@contextlib.contextmanager
def frequent_collections() -> Iterator[None]:
    """Collect garbage often, among the objects that are created meanwhile, which is fast."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*_COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
