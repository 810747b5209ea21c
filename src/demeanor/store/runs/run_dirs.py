"""The folder of all runs: creates and finds runs, and maintains the link `latest`.

Trials that were judged again are stored inside their run, as `<run>/rejudged/<time>/` with run.json and ledger.jsonl.
They are not a run of their own: the history does not contain them, and no night is counted twice.
"""

from __future__ import annotations

import random
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.core.trees.atomic_file import atomic_file
from demeanor.core.values.errors import StoreError, UnknownName
from demeanor.core.values.history import PastRun
from demeanor.core.values.record import Record, RunInfo
from demeanor.store.runs.run_folder import RUN_FILE, RunFolder

if TYPE_CHECKING:
    from demeanor.core.values.trial import Plan

LATEST = "latest"
REJUDGED = "rejudged"
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def new_run(results: Path, now: datetime) -> RunFolder:
    """Create the folder of a run that starts now."""
    try:
        results.mkdir(parents=True, exist_ok=True)
        folder = results / run_name(now)
        while not _created(folder):
            folder = results / run_name(now)
        return RunFolder(folder)
    except OSError as error:
        raise StoreError(
            f"{results}: can't store a run here: {error.strerror}\n  → use another folder: --results DIR"
        ) from error


def run_name(now: datetime) -> str:
    """A name that sorts by time and that no other machine chooses, such as `2026-11-15T03-00-00-k4x2f`.

    The last five characters are two digits for the fraction of the second, in 1/1296, and three random ones.
    """
    fraction = now.microsecond * 1296 // 1_000_000
    suffix = [_DIGITS[fraction // 36], _DIGITS[fraction % 36], *random.SystemRandom().choices(_DIGITS, k=3)]
    return f"{now:%Y-%m-%dT%H-%M-%S}-{''.join(suffix)}"


def _created(folder: Path) -> bool:
    """Whether the folder could be created; False if the name is taken."""
    try:
        folder.mkdir()
    except FileExistsError:
        return False
    return True


def discard_empty(run: Path) -> None:
    """Remove the folder of a run that did not start, and its results folder, as far as they are empty."""
    with suppress(OSError):
        run.rmdir()
        run.parent.rmdir()


def point_latest(run: Path) -> None:
    """Point the link `latest` beside a run to it, atomically."""
    link = run.parent / LATEST
    if link.exists() and not link.is_symlink():
        return  # a file or folder of the user; do not replace it
    with atomic_file(link) as temporary:
        temporary.symlink_to(run.name)


def list_runs(results: Path) -> list[Path]:
    """All runs, newest last."""
    if not results.is_dir():
        return []
    return sorted(path for path in results.iterdir() if not path.is_symlink() and (path / RUN_FILE).is_file())


def find_run(results: Path, name: str = LATEST) -> RunFolder:
    """A run by name or path, or the latest one; raises UnknownName."""
    if (Path(name) / RUN_FILE).is_file():
        return RunFolder(Path(name).resolve())
    runs = list_runs(results)
    if name == LATEST:
        link = results / LATEST
        if (link / RUN_FILE).is_file():
            return RunFolder(link.resolve())
        if runs:
            return RunFolder(runs[-1])
    for path in runs:
        if path.name == name:
            return RunFolder(path)
    raise UnknownName("run", name, (path.name for path in runs), where=results)


@dataclass(frozen=True, kw_only=True, slots=True)
class RunPlace:
    """Where a run is stored."""

    name: str
    """The run's name."""

    folder: RunFolder | None
    """Its folder; None if it is not on this machine."""

    source: str = ""
    """The folder or file that it came from, as HOST:PATH."""

    origin: str = "demeanor"
    """`demeanor`, or the format that it was imported from."""


def place_of(run: PastRun, results: Path) -> RunPlace:
    """Where a run of the history is stored: its folder may be on this machine, also if another one wrote it."""
    folder = None
    if run.origin == "demeanor":
        places = [path for path in (run.path, results / run.name) if (path / RUN_FILE).is_file()]
        folder = next((RunFolder(path) for path in places if RunFolder(path).info().id == run.name), None)
    return RunPlace(name=run.name, folder=folder, source=run.source, origin=run.origin)


def address_of(path: Path) -> str:
    """A path of this machine, as other machines show it: HOST:PATH."""
    return f"{socket.gethostname()}:{path}"


def store_rejudged(run: RunFolder, info: RunInfo, plan: Plan, records: Sequence[Record], now: datetime) -> RunFolder:
    """Store new verdicts for trials of `run` inside it; nothing of the run itself changes."""
    rejudged = new_run(run.folder / REJUDGED, now)
    rejudged.begin(replace(info, id=rejudged.folder.name), plan)
    try:
        for record in records:
            rejudged.refer(replace(record, folder=f"../../{record.folder}", capture=None))
    finally:
        rejudged.close()
    return rejudged
