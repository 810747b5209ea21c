"""The history → what reports over time are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn, cast

from demeanor.commands.history.report import EvalHistory, eval_course
from demeanor.commands.report.build import failing, night_report, trouble, voided
from demeanor.commands.report.change_points import course_of
from demeanor.commands.report.report import NightReport
from demeanor.commands.run.failure_groups import failed_by_reason, void_by_reason
from demeanor.commands.run.policies import decide
from demeanor.core.errors import UnknownName, UsageError
from demeanor.core.history import PastRun
from demeanor.core.ports import History
from demeanor.core.record import RunKind
from demeanor.store.history.nights import changes
from demeanor.store.runs.run_folder import RUN_FILE, RunFolder


def find_past_run(history: History, name: str | None) -> PastRun:
    """A run by its name, its uid or the path of its folder; None means the latest night, or else the latest run."""
    if name is None:
        found = history.runs(kind="nightly", limit=1) or history.runs(limit=1)
        if not found:
            raise UsageError("no run is kept yet\n  → demeanor nightly makes one, demeanor import reads others")
        return found[0]
    folder = Path(name)
    if (folder / RUN_FILE).is_file():
        info = RunFolder(folder).info()
        try:
            return history.run(info.uid or info.id)
        except UnknownName:
            raise UsageError(f"{folder}: the history does not know this run\n  → demeanor import {folder}") from None
    return history.run(name)


def make_night_report(
    history: History, run: PastRun, *, nights: int = 7, branch: str | None = None, details: int = 20
) -> NightReport:
    """A run and the nights before it, with the reasons of as many failures and voids as `details` says."""
    shown = [*nights_before(history, run, nights, branch=branch), run]
    cells = [cell for night in shown for cell in history.cells(night.name)]
    report = night_report(shown, cells, decide=decide, changes=changes, notes=_notes(run))
    failed, broken = failing(report), voided(report)
    return replace(
        report,
        failures=tuple(
            trouble(row.eval, subject, failed_by_reason(history.trials(run.name, name=row.eval, subject=subject)))
            for row, subject in failed[:details]
        ),
        more_failures=max(0, len(failed) - details),
        voids=tuple(
            trouble(row.eval, subject, void_by_reason(history.trials(run.name, name=row.eval, subject=subject)))
            for row, subject in broken[:details]
        ),
        more_voids=max(0, len(broken) - details),
    )


def nights_before(history: History, run: PastRun, number: int, *, branch: str | None = None) -> Sequence[PastRun]:
    """The last nightly runs that began before `run`, the oldest first."""
    began = (run.info.started, run.name)
    found = history.runs(kind="nightly", branch=branch)
    earlier = [night for night in found if (night.info.started, night.name) < began and night.name != run.name]
    return earlier[:number][::-1]


def _notes(run: PastRun) -> tuple[str, ...]:
    if run.info.kind == "nightly":
        return ()
    return (f"this is a run of kind {run.info.kind}, held against the nights before it",)


def make_eval_course(history: History, name: str, subject: str | None = None, *, kind: str = "nightly") -> EvalHistory:
    """One eval over time; an eval or subject that no run has is an error that names those that they have."""
    cells = history.eval_history(name, subject, kind=None if kind == "all" else cast(RunKind, kind))
    if not cells:
        _refuse(history, name, subject, kind)
    # A night should have had every eval, so one without this eval is a gap; of other runs nobody would say so.
    runs = history.runs(kind="nightly") if kind == "nightly" else ()
    return eval_course(name, cells, kind=kind, course_of=course_of, runs=runs)


def _refuse(history: History, name: str, subject: str | None, kind: str) -> NoReturn:
    others = history.eval_history(name)
    if not others:
        recent = [cell.eval for run in history.runs(limit=3) for cell in history.cells(run.name)]
        raise UnknownName("eval", name, dict.fromkeys(recent), where="the history")
    subjects = dict.fromkeys(cell.subject for cell in others)
    if subject is not None and subject not in subjects:
        raise UnknownName("subject", subject, subjects, where=f"the history of {name!r}")
    kinds = " and ".join(sorted({cell.kind for cell in others}))
    raise UsageError(f"eval {name!r}: no {kind} run has it, only {kinds} ones\n  → ask for them: --kind all")
