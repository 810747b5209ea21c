"""Find a run and load what was stored of it: from its run folder, or as far as the history holds it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.config import Config
from demeanor.core.text.codec import DecodeError, decode
from demeanor.core.values.errors import StoreError, UnknownName, UsageError
from demeanor.core.values.history import PastRun
from demeanor.core.values.record import Record, RunInfo, last_attempts
from demeanor.results.history import open_project_history
from demeanor.store.runs import LATEST, RUN_FILE, RunFolder, RunPlace, address_of, find_run, list_runs, place_of

if TYPE_CHECKING:
    from demeanor.core.values.ports import History
    from demeanor.core.values.run_request import RunRequest

_FEW = 20
"""Evals that are read one by one, at most."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredRun:
    """A run that has ended, with everything that was stored of it."""

    info: RunInfo
    """The run's name, time, commit, seed and arguments."""

    records: tuple[Record, ...]
    """Every attempt, in the order in which they ended."""

    cells: tuple[str, ...]
    """The ids of its cells, in the order of its plan."""

    place: RunPlace
    """Where it is stored."""

    skipped: Mapping[str, str] = field(default_factory=dict)
    """Why cells have no trials, by their ids."""

    @property
    def name(self) -> str:
        """The run's name."""
        return self.info.id

    @property
    def folder(self) -> RunFolder | None:
        """Its run folder; None if it is not on this machine."""
        return self.place.folder

    def local_folder(self) -> RunFolder:
        """Its run folder; raises UsageError if it is not on this machine."""
        if self.folder is None:
            raise UsageError(f"the folder of {self.name} is not on this machine, but {self.place.source}")
        return self.folder

    @property
    def request(self) -> RunRequest:
        """The request of the run; an empty one if it can't be read."""
        return request_of_run(self.info)

    def trials(self, evals: Collection[str] = ()) -> tuple[Record, ...]:
        """The attempt of each trial that counts, in the order of the plan; only of `evals`, if any are named."""
        by_cell: dict[str, list[Record]] = {cell: [] for cell in self.cells}
        for record in self.records:
            if not evals or record.eval in evals:
                by_cell.setdefault(record.cell, []).append(record)
        return tuple(record for own in by_cell.values() for record in last_attempts(own))


def request_of_run(info: RunInfo) -> RunRequest:
    """The request of a run; an empty one if it can't be read."""
    from demeanor.core.values.run_request import RunRequest

    try:
        return decode(RunRequest, info.arguments)
    except DecodeError:  # a run of another tool, or of another version
        return RunRequest()


def find_past_run(
    history: History, name: str | None, *, branch: str | None = None, results: Path | None = None
) -> PastRun:
    """A run by its name, its uid or its folder; None means the latest nightly run, or else the latest run, of `branch`
    if given. `latest` is the latest run in `results`, as for every command; if there is none, that of the history."""
    if name is None:
        runs = history.runs(kind="nightly", branch=branch, limit=1) or history.runs(branch=branch, limit=1)
        if not runs and branch is not None:
            branches = {run.info.branch for run in history.runs() if run.info.branch}
            raise UnknownName("branch", branch, branches, where="the history")
        if not runs:
            raise UsageError(
                "the history has no run yet\n  → demeanor nightly starts one, demeanor store import imports others"
            )
        return runs[0]
    folder = _latest_of(results) if name == LATEST and results is not None else Path(name)
    if (folder / RUN_FILE).is_file():
        info = RunFolder(folder).info()
        try:
            return history.run(info.uid or info.id)
        except UnknownName:
            raise UsageError(f"{folder}: this run is not in the history\n  → demeanor store import {folder}") from None
    return history.run(name)


def _latest_of(results: Path) -> Path:
    """The folder of the latest run on this machine; a path that is not a run if there is none."""
    try:
        return find_run(results).folder
    except UnknownName:
        return results / LATEST


def find_stored_run(
    name: str, results: Path, config: Config, environ: Mapping[str, str], *, trials: Collection[str] = ()
) -> StoredRun:
    """A run by its name, its folder or `latest`, also of another machine; raises UnknownName. Of a large run, only the
    records of the evals of some `trials` can be read: `EVAL/SUBJECT/NUMBER` or the beginning of it."""
    try:
        return stored_run(find_run(results, name), trials=trials)
    except UnknownName as unknown:
        try:
            with open_project_history(config, environ, results=results) as history:
                return _from_history(history, history.run(name), results, trials=trials)
        except UnknownName as other:
            raise UnknownName("run", name, {*unknown.known, *other.known}, where=results) from None
        except StoreError as error:
            raise type(error)(f"{results}: there is no run {name!r}, and the history can't be read: {error}") from None


def runs_with_eval(
    name: str, results: Path, config: Config, environ: Mapping[str, str], *, last: int
) -> tuple[StoredRun, ...]:
    """The last runs that tried an eval, on any machine, the oldest first; raises UnknownName if there is none."""
    runs_by_id: dict[str, tuple[str, PastRun | RunFolder]] = {}
    seen: set[str] = set()
    for folder in map(RunFolder, list_runs(results)):
        evals = {str(cell["eval"]) for cell in folder.cells()}
        seen |= {folder.info().id, *evals}
        if name in evals and any(record.eval == name for record in folder.records()):
            runs_by_id[folder.info().id] = (folder.info().started, folder)
    with open_project_history(config, environ, results=results) as history:
        for cell in history.eval_history(name):
            if cell.attempts and cell.run not in runs_by_id:
                runs_by_id[cell.run] = (cell.started, history.run(cell.run))
        if not runs_by_id:
            raise UnknownName("run or eval", name, {*seen, *(run.name for run in history.runs())}, where=results)
        return tuple(_load(history, run, results) for run in _newest(runs_by_id, last))


def runs_before(
    run: StoredRun, results: Path, config: Config, environ: Mapping[str, str], *, most: int
) -> Iterator[StoredRun]:
    """The runs that started before this one, on any machine, the newest first."""
    local = [folder for folder in map(RunFolder, list_runs(results)) if folder.folder.name < run.name][-most:]
    by_id: dict[str, tuple[str, PastRun | RunFolder]] = {
        folder.info().id: (folder.info().started, folder) for folder in local
    }
    with open_project_history(config, environ, results=results) as history:
        earlier = (past for past in history.runs() if (past.info.started, past.name) < (run.info.started, run.name))
        for past in islice(earlier, most):
            by_id.setdefault(past.name, (past.info.started, past))
        for earlier_run in reversed(_newest(by_id, most)):
            yield _load(history, earlier_run, results)


def _newest(runs: Mapping[str, tuple[str, PastRun | RunFolder]], number: int) -> list[PastRun | RunFolder]:
    """The newest runs, the oldest first; `runs` is name → start and run."""
    return [run for _, (_, run) in sorted(runs.items(), key=lambda item: (item[1][0], item[0]))[-number:]]


def _load(history: History, run: PastRun | RunFolder, results: Path) -> StoredRun:
    return stored_run(run) if isinstance(run, RunFolder) else _from_history(history, run, results)


def stored_run(folder: RunFolder, *, trials: Collection[str] = ()) -> StoredRun:
    """The run of a run folder."""
    planned = folder.cells()
    cells = [(str(cell["eval"]), str(cell["subject"])) for cell in planned]
    reasons = {f"{cell['eval']}/{cell['subject']}": cell["skipped"] for cell in planned if cell["skipped"]}
    info = folder.info()
    place = RunPlace(name=info.id, folder=folder, source=address_of(folder.folder))
    records = folder.records(evals=_evals_of(trials, cells))
    return StoredRun(info=info, records=records, cells=tuple(map("/".join, cells)), place=place, skipped=reasons)


def _from_history(history: History, run: PastRun, results: Path, *, trials: Collection[str] = ()) -> StoredRun:
    """A run of the history: from its folder if that is on this machine, else as far as the history has it."""
    place = place_of(run, results)
    if place.folder is not None:
        return stored_run(place.folder, trials=trials)
    planned = history.cells(run.name)
    cells = [(cell.eval, cell.subject) for cell in planned]
    reasons = {f"{cell.eval}/{cell.subject}": cell.skip_reason for cell in planned if cell.skip_reason}
    evals = _evals_of(trials, cells)
    if evals:
        unsorted = (record for name in sorted(evals) for record in history.records(run.name, name=name))
        records = tuple(sorted(unsorted, key=lambda record: record.ended))
    else:
        records = history.records(run.name)
    return StoredRun(info=run.info, records=records, cells=tuple(map("/".join, cells)), place=place, skipped=reasons)


def _evals_of(trials: Collection[str], cells: Collection[tuple[str, str]]) -> frozenset[str]:
    """The evals that trials can belong to by their names; none, which means all, if a name fits no cell or many."""
    names: set[str] = set()
    for trial in trials:
        path = f"{trial.rstrip('/').replace('/trial-', '/')}/"
        own = {name for name, subject in cells if path.startswith(f"{name}/") or f"{name}/".startswith(path)}
        if not own:
            return frozenset()
        names |= own
    return frozenset(names) if len(names) <= _FEW else frozenset()
