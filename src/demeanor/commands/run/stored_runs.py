"""Loads stored runs: from their run folders, or as far as the history holds them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from demeanor.commands.run.tallies import last_attempts
from demeanor.config.config import Config
from demeanor.core.codec import DecodeError, decode
from demeanor.core.errors import UnknownName, UsageError
from demeanor.core.record import Record, RunInfo
from demeanor.core.run_request import RunRequest
from demeanor.runner.history import open_project_history
from demeanor.store.runs.run_dirs import find_run, runs
from demeanor.store.runs.run_folder import RunFolder


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredRun:
    """A run that has ended, with everything that was stored of it."""

    info: RunInfo
    """The run's name, time, commit, seed and arguments."""

    records: tuple[Record, ...]
    """Every attempt, in the order in which they ended."""

    cells: tuple[str, ...]
    """The ids of its cells, in the order of its plan."""

    folder: RunFolder | None = None
    """Its run folder; None if only the history has it."""

    origin: str = "demeanor"
    """`demeanor`, or the format from which it was imported."""

    @property
    def name(self) -> str:
        """The run's name."""
        return self.info.id

    @property
    def request(self) -> RunRequest:
        """The request of the run; an empty one if it can't be read."""
        try:
            return decode(RunRequest, self.info.arguments)
        except DecodeError:  # a run of another tool, or of another version
            return RunRequest()

    def trials(self, evals: Collection[str] = ()) -> tuple[Record, ...]:
        """The attempt of each trial that counts, in the order of the plan; only of `evals`, if any are named."""
        by_cell: dict[str, list[Record]] = {cell: [] for cell in self.cells}
        for record in self.records:
            if not evals or record.eval in evals:
                by_cell.setdefault(record.cell, []).append(record)
        return tuple(record for own in by_cell.values() for record in last_attempts(own))


def find_stored_run(name: str, results: Path, config: Config, environ: Mapping[str, str]) -> StoredRun:
    """A run by its name, its folder or `latest`; raises UnknownName."""
    try:
        return stored_run(find_run(results, name))
    except UnknownName as unknown:
        return _from_history(name, results, config, environ, unknown)


def runs_with_eval(name: str, results: Path, *, last: int) -> tuple[StoredRun, ...]:
    """The last runs of an eval in a results folder, the oldest first; raises UnknownName if there is none."""
    found: list[StoredRun] = []
    seen: set[str] = set()
    for path in reversed(runs(results)):
        folder = RunFolder(path)
        evals = {str(cell["eval"]) for cell in folder.cells()}
        seen |= evals
        if name in evals and any(record.eval == name for record in folder.records()):
            found.append(stored_run(folder))
        if len(found) == last:
            break
    if not found:
        raise UnknownName("run or eval", name, {*(path.name for path in runs(results)), *seen}, where=results)
    return tuple(reversed(found))


def stored_run(folder: RunFolder) -> StoredRun:
    """The run of a run folder."""
    cells = tuple(f"{cell['eval']}/{cell['subject']}" for cell in folder.cells())
    return StoredRun(info=folder.info(), records=folder.records(), cells=cells, folder=folder)


def _from_history(
    name: str, results: Path, config: Config, environ: Mapping[str, str], unknown: UnknownName
) -> StoredRun:
    """A run that was imported, or that another machine ran."""
    try:
        with open_project_history(config, environ, results=results) as history:
            run = history.run(name)
            cells = tuple(f"{cell.eval}/{cell.subject}" for cell in history.cells(run.name))
            return StoredRun(info=run.info, records=history.records(run.name), cells=cells, origin=run.origin)
    except UsageError:  # an unknown run, or no history
        raise unknown from None
