"""The folder of all runs: making a new one, finding an old one, and `latest`."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from demeanor.core.errors import StoreError, UnknownName, UsageError
from demeanor.store.runs.run_folder import RUN_FILE, RunFolder

LATEST = "latest"


def new_run(results: Path, now: datetime) -> RunFolder:
    """A folder of its own for a run that begins now; two runs that begin at once get two folders."""
    stamp = now.strftime("%Y-%m-%dT%H-%M-%S")
    try:
        return _new_run(results, stamp)
    except OSError as error:
        raise StoreError(
            f"{results}: no run can be kept here: {error.strerror}\n  → name another folder with --out"
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
    raise UsageError(f"{results} holds 999 runs of the same second")


def point_latest(run: Path) -> None:
    """Let `latest` beside a run point to it; in one step, so that it is never missing."""
    link = run.parent / LATEST
    if link.exists() and not link.is_symlink():
        return  # somebody's own file or folder; not ours to replace
    half = run.parent / f".{LATEST}.{os.getpid()}"
    half.unlink(missing_ok=True)
    half.symlink_to(run.name)
    half.replace(link)


def runs(results: Path) -> list[Path]:
    """All runs, the newest last."""
    if not results.is_dir():
        return []
    return sorted(path for path in results.iterdir() if not path.is_symlink() and (path / RUN_FILE).is_file())


def find_run(results: Path, name: str = LATEST) -> RunFolder:
    """A run by its name, by a path to it, or the latest one."""
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
