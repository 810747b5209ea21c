"""Several runs that are executed together, shown as one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from demeanor.core.values.progress import AttemptStarted, Progress, WorkersChanged
from demeanor.core.values.subject import Subject
from demeanor.core.values.trial import Plan

if TYPE_CHECKING:
    from demeanor.runner.execution import PreparedRun


def joint_plan(runs: Mapping[str, PreparedRun]) -> Plan:
    """All plans as one, for the display: the cells of the same eval and subject stand next to each other."""
    rows = zip(*([(label, cell) for cell in run.plan.cells] for label, run in runs.items()), strict=True)
    return Plan(
        cells=tuple(
            replace(cell, subject=Subject(agent=f"{cell.subject} ({label})", model=""))
            for row in rows
            for label, cell in row
        )
    )


def with_label(news: Progress, label: str) -> Progress:
    """A progress event of one of several runs, as the display of all of them shows it."""
    if isinstance(news, AttemptStarted):
        return replace(news, subject=f"{news.subject} ({label})")
    if isinstance(news, WorkersChanged):
        return news
    return replace(news, record=replace(news.record, subject=f"{news.record.subject} ({label})"))
