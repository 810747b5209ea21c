"""Where weights can be had. A source appends to a file which holds the first bytes of the weights already.

Both are strangers: whatever they send is bytes, never run, never more than was expected, and worth nothing before the
whole of it has the right hash (fetch.py).
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

from demeanor.gateway.local.weights import Weights, Wheel

CONNECT_SECONDS = 3.0
"""A machine without the internet should not wait long to find that out."""

_SILENT_SECONDS = 60.0
_CHUNK = 2**20
_AHEAD = 3
"""Wheels that are downloaded at once."""


class Unavailable(Exception):
    """A source that can't be used, or not to the end; what came before is kept."""


class WeightsSource(Protocol):
    """Somewhere that has weights."""

    @property
    def title(self) -> str:
        """What a person is told."""
        ...

    def has(self, weights: Weights) -> bool:
        """Whether it is worth asking."""
        ...

    def append(self, weights: Weights, file: BinaryIO, grown: Callable[[int], None]) -> None:
        """Append what is missing, telling `grown` the size reached; raises Unavailable."""
        ...


class Publisher:
    """The publisher's own download."""

    title = "the publisher's download"

    def has(self, weights: Weights) -> bool:
        """Where there is an address."""
        return bool(weights.url)

    def append(self, weights: Weights, file: BinaryIO, grown: Callable[[int], None]) -> None:
        """Go on from where the file ends, if the server can; otherwise from the beginning."""
        try:
            asyncio.run(self._append(weights, file, grown))
        except (aiohttp.ClientError, OSError) as error:
            raise Unavailable(str(error) or type(error).__name__) from None

    async def _append(self, weights: Weights, file: BinaryIO, grown: Callable[[int], None]) -> None:
        begun = file.seek(0, 2)
        if begun == weights.size:
            return
        timeout = aiohttp.ClientTimeout(
            total=None, connect=CONNECT_SECONDS, sock_connect=CONNECT_SECONDS, sock_read=_SILENT_SECONDS
        )
        headers = {"Range": f"bytes={begun}-"} if begun else {}
        async with (
            aiohttp.ClientSession(timeout=timeout, trust_env=True, auto_decompress=False) as client,
            client.get(weights.url, headers={**headers, "Accept-Encoding": "identity"}) as answer,
        ):
            if answer.status not in {200, 206}:
                raise Unavailable(f"HTTP {answer.status}")
            if answer.status == 200 and begun:
                begun = 0
                file.truncate(0)
                file.seek(0)
            async for chunk in answer.content.iter_chunked(_CHUNK):
                begun += len(chunk)
                if begun > weights.size:
                    raise Unavailable("it sends more than the model has")
                file.write(chunk)
                grown(begun)
        if begun < weights.size:
            raise Unavailable("it ended too early")


class PackageIndex:
    """Wheels that carry the weights, from whatever package index this Python's pip is set up for."""

    title = "the package index"

    def has(self, weights: Weights) -> bool:
        """Where wheels are known."""
        return bool(weights.wheels)

    def append(self, weights: Weights, file: BinaryIO, grown: Callable[[int], None]) -> None:
        """Cut the file back to the last whole part, and append the parts that are missing, in order."""
        ends = list(accumulate(wheel.size for wheel in weights.wheels))
        size = file.seek(0, 2)
        whole = sum(end <= size for end in ends)
        begun = ends[whole - 1] if whole else 0
        file.truncate(begun)
        file.seek(begun)
        for wheel, archive in _downloads(weights.wheels[whole:]):
            _copy(wheel, archive, file)
            archive.unlink()
            grown(file.tell())


def _downloads(wheels: tuple[Wheel, ...]) -> Iterator[tuple[Wheel, Path]]:
    """Each wheel with its file, in order; the next ones are under way meanwhile."""
    with tempfile.TemporaryDirectory(prefix="demeanor-") as folder, _pool() as pool:
        waiting = deque(wheels)
        under_way: deque[tuple[Wheel, Future[Path]]] = deque()
        while waiting or under_way:
            while waiting and len(under_way) < _AHEAD:
                wheel = waiting.popleft()
                under_way.append((wheel, pool.submit(_download, wheel, Path(folder, wheel.project))))
            wheel, future = under_way.popleft()
            yield wheel, future.result()


@contextmanager
def _pool() -> Iterator[ThreadPoolExecutor]:
    """Threads whose waiting work is dropped when it is no longer wanted."""
    pool = ThreadPoolExecutor(_AHEAD)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _download(wheel: Wheel, folder: Path) -> Path:
    """Let pip download one wheel. No dependencies and no source packages: those would run code of theirs."""
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
        raise Unavailable(f"{wheel.project}=={wheel.version}: {' '.join(lines)[-400:] or 'pip found no wheel'}")
    return found[0]


def _copy(wheel: Wheel, archive: Path, file: BinaryIO) -> None:
    """Append the bytes that a wheel carries; what is not as expected leaves the file as it was."""
    begun = file.tell()
    try:
        with zipfile.ZipFile(archive) as opened:
            if opened.getinfo(wheel.member).file_size != wheel.size:
                raise Unavailable(f"{wheel.project}=={wheel.version}: {wheel.member} has another size than expected")
            with opened.open(wheel.member) as member:
                while chunk := member.read(_CHUNK):
                    file.write(chunk)
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError, NotImplementedError, RuntimeError) as error:
        file.truncate(begun)
        file.seek(begun)
        raise Unavailable(f"{wheel.project}=={wheel.version}: no wheel with {wheel.member}: {error}") from None


SOURCES: tuple[WeightsSource, ...] = (Publisher(), PackageIndex())
"""In the order in which they are asked."""
