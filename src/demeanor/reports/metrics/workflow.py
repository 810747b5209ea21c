"""Read the runs to analyse, from the history or from files of any format that can be imported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from demeanor.core.values.errors import UsageError
from demeanor.core.values.ports import History
from demeanor.reports.metrics.report import AnalysisSource, Planned
from demeanor.results import find_past_run
from demeanor.store.imports import demeanor_report
from demeanor.store.runs import LATEST, RUN_FILE

FIXES = "fixes"
"""The folder of the fixes in a results folder."""

DOWNLOADS = "ci"
"""The folder of downloaded CI runs in a results folder."""

_SQLITE = b"SQLite format 3\0"
_DATABASE_COMPANIONS = (".db-wal", ".db-shm", ".db-journal")


def sources_of(history: History, names_asked: Sequence[str], results: Path) -> tuple[AnalysisSource, ...]:
    """The runs to analyse (default: the latest). Files and folders are read in place, without importing them.

    `results/*` also names other files: the link to the latest run, the database, reports of the same runs, and the
    fixes. Of several names, these are left out.
    """
    if not names_asked:
        return (_from_history(history, LATEST, results),)
    names = list({_resolved(name): name for name in reversed(names_asked)}.values())[::-1]
    runs = [name for name in names if len(names) == 1 or not _beside_runs(Path(name))]
    if not runs:
        raise UsageError(
            f"none of these is a run: {', '.join(names_asked)}\n  → name runs, or files that can be imported"
        )
    sources = [
        source
        for name in runs
        for source in (_from_files(Path(name)) if Path(name).exists() else (_from_history(history, name, results),))
    ]
    return tuple({(source.name, source.started): source for source in sources}.values())


def _resolved(name: str) -> str:
    """A path without symbolic links, so that `latest` and the run that it names are the same."""
    return str(Path(name).resolve()) if Path(name).exists() else name


def _beside_runs(path: Path) -> bool:
    """Whether this belongs to a results folder without being a run: the database, a report of a run, or the fixes."""
    if path.is_dir():
        return path.name == DOWNLOADS or (path.name == FIXES and any(path.glob("*/brief.md")))
    if not path.is_file():
        return False
    if path.name.endswith(_DATABASE_COMPANIONS) or any(path.parent.glob(f"*/{RUN_FILE}")):
        return True
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE


def _from_history(history: History, name: str, results: Path) -> AnalysisSource:
    run = find_past_run(history, name if history.runs(limit=1) else None, results=results)
    planned = {
        (cell.eval, cell.subject): Planned(policy=cell.policy, trials=cell.planned, skipped=cell.skip_reason)
        for cell in history.cells(run.name)
    }
    return AnalysisSource(
        name=run.name,
        started=run.info.started,
        records=history.records(run.name),
        planned=planned,
        imported=run.origin != demeanor_report.ORIGIN,
    )


def _from_files(path: Path) -> tuple[AnalysisSource, ...]:
    from demeanor.store.imports import ImportOptions, read_imports

    return tuple(
        AnalysisSource(
            name=imported.run.id,
            started=imported.run.started,
            records=tuple(attempt.record for attempt in imported.records),
            planned={
                (cell.eval, cell.subject): Planned(policy=cell.policy, trials=cell.planned, skipped=cell.skipped)
                for cell in imported.cells
            },
            imported=imported.origin != demeanor_report.ORIGIN,
        )
        for imported in read_imports([path], ImportOptions())
    )
