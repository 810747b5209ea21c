"""Find a run in the history, and make the report of it and the nights before it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from demeanor.core.values.history import PastRun
from demeanor.decide import RateShift
from demeanor.reports.night.build import failing, failing_cell, night_report, voided
from demeanor.reports.night.report import NearPromotion, NightReport, VoidCount
from demeanor.reports.night.rows import Needed
from demeanor.reports.night.shift_scan import kept_shifts, nights_before
from demeanor.reports.run import failed_by_reason, void_by_reason
from demeanor.store import SqlHistory, TrialOutcome, outcomes, stored_price_notes, void_causes


def make_night_report(
    history: SqlHistory,
    run: PastRun,
    *,
    nights: int = 7,
    branch: str | None = None,
    details: int = 20,
    across: bool = False,
    needed: Needed | None = None,
    near: tuple[NearPromotion, ...] = (),
) -> NightReport:
    """The report of a run and the nights before it, with the reasons of the first `details` failures and voids."""
    shown = [*nights_before(history, run, nights, branch=branch), run]
    cells = [cell for night in shown for cell in history.cells(night.name)]
    shifts = kept_shifts(history, shown, branch=branch)
    report = night_report(
        shown,
        cells,
        notes=(*_notes(run), *stored_price_notes(history, [run.name])),
        across=across,
        needed=needed,
        shifts=shifts,
    )
    failed, void = failing(report), voided(report)
    causes = void_causes(history, run.name)
    return replace(
        report,
        shifts=with_examples(history, run.name, report.shifts),
        void_causes=tuple(VoidCount(cause=cause, trials=len(cells)) for cause, cells in causes.items()),
        near=near,
        failures=tuple(
            failing_cell(row.eval, subject, failed_by_reason(history.trials(run.name, name=row.eval, subject=subject)))
            for row, subject in failed[:details]
        ),
        more_failures=max(0, len(failed) - details),
        voids=tuple(
            failing_cell(row.eval, subject, void_by_reason(history.trials(run.name, name=row.eval, subject=subject)))
            for row, subject in void[:details]
        ),
        more_voids=max(0, len(void) - details),
    )


def with_examples(history: SqlHistory, run: str, shifts: Iterable[RateShift]) -> tuple[RateShift, ...]:
    """The changes, each with a trial of this run to look at."""
    shifts = tuple(shifts)
    found = outcomes(history, run, [(one.eval, one.subject) for one in shifts])
    return tuple(replace(one, example=_example(found.get((one.eval, one.subject), ()))) for one in shifts)


def _example(trials: Sequence[TrialOutcome]) -> int | None:
    failed = [trial for trial in trials if trial.outcome == "fail"]
    return next((trial.number for trial in (*failed, *trials)), None)


def _notes(run: PastRun) -> tuple[str, ...]:
    if run.info.kind == "nightly":
        return ()
    return (f"this is a {run.info.kind} run, compared with the nights before it",)
