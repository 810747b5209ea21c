"""Runs by name, and files and folders of any format that can be imported → what an analysis is made of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from demeanor.commands.analyze.report import AnalysisSource, Planned
from demeanor.commands.report.workflow import find_past_run
from demeanor.core.ports import History


def sources_of(history: History, wanted: Sequence[str]) -> tuple[AnalysisSource, ...]:
    """What was asked for: the latest run where nothing was. A file or folder is read where it is, and not kept."""
    if not wanted:
        return (_from_history(history, None),)
    return tuple(
        source
        for name in wanted
        for source in (_from_files(Path(name)) if Path(name).exists() else (_from_history(history, name),))
    )


def _from_history(history: History, name: str | None) -> AnalysisSource:
    latest = history.runs(limit=1)
    run = latest[0] if latest and name is None else find_past_run(history, name)
    planned = {
        (cell.eval, cell.subject): Planned(policy=cell.policy, trials=cell.planned, skipped=cell.skip_reason)
        for cell in history.cells(run.name)
    }
    return AnalysisSource(name=run.name, records=history.records(run.name), planned=planned)


def _from_files(path: Path) -> tuple[AnalysisSource, ...]:
    from demeanor.store.imports import ImportOptions, read_imports

    return tuple(
        AnalysisSource(
            name=one.run.id,
            records=tuple(attempt.record for attempt in one.records),
            planned={
                (cell.eval, cell.subject): Planned(policy=cell.policy, trials=cell.planned, skipped=cell.skipped)
                for cell in one.cells
            },
        )
        for one in read_imports([path], ImportOptions())
    )
