"""The folder of all runs: creates and finds runs, and maintains the link `latest`.

Trials that were judged again are stored inside their run, as `<run>/rejudged/<time>/` with run.json and ledger.jsonl.
They are not a run of their own: the history does not contain them, and no night is counted twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from demeanor.core.atomic_file import atomic_file
from demeanor.core.errors import StoreError, UnknownName, UsageError
from demeanor.core.record import Record, RunInfo
from demeanor.core.trial import Plan
from demeanor.store.runs.run_folder import RUN_FILE, RunFolder

LATEST = "latest"
REJUDGED = "rejudged"


def new_run(results: Path, now: datetime) -> RunFolder:
    """Create the folder of a run that starts now; two runs that start at the same second get two folders."""
    stamp = now.strftime("%Y-%m-%dT%H-%M-%S")
    try:
        return _new_run(results, stamp)
    except OSError as error:
        raise StoreError(
            f"{results}: can't store a run here: {error.strerror}\n  → use another folder: --out DIR"
        ) from error


def _new_run(results: Path, stamp: str) -> RunFolder:
    results.mkdir(parents=True, exist_ok=True)
    for number in range(1, 1000):
        folder = results / (stamp if number == 1 else f"{stamp}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return RunFolder(folder)
    raise UsageError(f"{results} contains 999 runs of the same second")


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


def runs(results: Path) -> list[Path]:
    """All runs, newest last."""
    if not results.is_dir():
        return []
    return sorted(path for path in results.iterdir() if not path.is_symlink() and (path / RUN_FILE).is_file())


def find_run(results: Path, name: str = LATEST) -> RunFolder:
    """A run by name or path, or the latest one; raises UnknownName."""
    if (Path(name) / RUN_FILE).is_file():
        return RunFolder(Path(name).resolve())
    known = runs(results)
    if name == LATEST:
        link = results / LATEST
        if (link / RUN_FILE).is_file():
            return RunFolder(link.resolve())
        if known:
            return RunFolder(known[-1])
    for path in known:
        if path.name == name:
            return RunFolder(path)
    raise UnknownName("run", name, (path.name for path in known), where=results)


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
