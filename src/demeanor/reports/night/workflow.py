"""Find a night or run in the history, and make the report of it and the nights before it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from demeanor.config import Config
from demeanor.core.values.fingerprints import files_unknown, unknown_files_note
from demeanor.core.values.history import Night, PastRun, RunCell
from demeanor.core.values.record import Record
from demeanor.core.values.verdict import VoidCause
from demeanor.decide.nights import RateShift
from demeanor.reports.night.build import failing, failing_cell, night_report, voided
from demeanor.reports.night.report import NearPromotion, NightReport, VoidCount
from demeanor.reports.night.shift_scan import kept_shifts
from demeanor.reports.run import Failure, failed_by_reason, void_by_reason
from demeanor.results import LAST_NIGHTS, cells_of_nights, drifted_judges, nights_until
from demeanor.store.history import SqlHistory, TrialOutcome, outcomes, stored_price_notes, void_causes

_CAUSES = {cause.value: cause for cause in VoidCause}


def make_night_report(
    history: SqlHistory,
    run: PastRun,
    config: Config,
    *,
    nights: int = 7,
    branch: str | None = None,
    details: int = 20,
    near: tuple[NearPromotion, ...] = (),
    changes: bool = True,
) -> NightReport:
    """The report of the night of a run, or of another run, and of the nights before it; with the reasons of the first
    `details` failures and voids. Without `changes`, those of pass rates are left out."""
    span = nights_until(history, run, max(nights, LAST_NIGHTS), branch=branch)
    tonight, accepted = span[-1], config.nightly.accepted
    cells = _without_accepted(cells_of_nights(history, span), tonight, accepted)
    unknown = {cell.subject for cell in cells if cell.run == tonight.name and files_unknown(cell.fingerprint)}
    causes = [void_causes(history, name) for name in tonight.names]
    report = night_report(
        span,
        cells,
        shown=nights + 1,
        notes=(
            *_notes(run),
            *map(unknown_files_note, sorted(unknown)),
            *drifted_judges(history),
            *stored_price_notes(history, tonight.names),
        ),
        needed=config.evidence.needed,
        shifts=kept_shifts(history, tonight, branch=branch, accepted=accepted) if changes else (),
        void_causes=_causes_by_cell(causes),
    )
    failed, void = failing(report), voided(report)
    trials = Counter(cause for by_cause in causes for cause, cells in by_cause.items() for _ in cells)
    return replace(
        report,
        notes=(*report.notes, *_not_tried(report, tonight)),
        shifts=_with_examples(history, tonight, report.shifts),
        void_causes=tuple(VoidCount(cause=cause, trials=number) for cause, number in trials.most_common()),
        near=near,
        failures=tuple(
            failing_cell(row.eval, subject, _failures(history, tonight, row.eval, subject, failed_by_reason))
            for row, subject in failed[:details]
        ),
        more_failures=max(0, len(failed) - details),
        voids=tuple(
            failing_cell(row.eval, subject, _failures(history, tonight, row.eval, subject, void_by_reason))
            for row, subject in void[:details]
        ),
        more_voids=max(0, len(void) - details),
    )


def _without_accepted(cells: Iterable[RunCell], night: Night, accepted: Mapping[str, str]) -> list[RunCell]:
    """The cells without those that this night did not try, up to the day until which that is accepted by name."""
    cells = list(cells)
    tried = {(cell.eval, cell.subject) for cell in cells if cell.run == night.name}
    return [
        cell
        for cell in cells
        if (cell.eval, cell.subject) in tried
        or cell.started[:10] > (accepted.get(f"{cell.eval}/{cell.subject}") or accepted.get(cell.eval, ""))
    ]


def _not_tried(report: NightReport, night: Night) -> tuple[str, ...]:
    """How to accept that an eval, or a subject of it, is gone."""
    rows = [
        row for subject in report.subjects for row in subject.rows if row.tally is None and row.decision is not None
    ]
    if not rows:
        return ()
    example = json.dumps(rows[0].eval, ensure_ascii=False)
    day = night.info.started[:10]
    return (f'what was removed on purpose is accepted by name: [nightly] accepted = {{ {example} = "{day}" }}',)


def _failures(
    history: SqlHistory,
    night: Night,
    name: str,
    subject: str,
    group: Callable[[Iterable[Record]], Sequence[Failure]],
) -> Iterator[tuple[str, Failure]]:
    """The failures of a cell in each run of a night."""
    for run in night.names:
        for failure in group(history.trials(run, name=name, subject=subject)):
            yield run, failure


def _causes_by_cell(
    causes: Iterable[Mapping[str, Sequence[tuple[str, str]]]],
) -> dict[tuple[str, str], dict[VoidCause, int]]:
    """By eval and subject: the known causes of void trials."""
    by_cell: dict[tuple[str, str], dict[VoidCause, int]] = {}
    for by_cause in causes:
        for text, cells in by_cause.items():
            if cause := _CAUSES.get(text):
                for cell in cells:
                    own = by_cell.setdefault(cell, {})
                    own[cause] = own.get(cause, 0) + 1
    return by_cell


def _with_examples(history: SqlHistory, night: Night, shifts: Iterable[RateShift]) -> tuple[RateShift, ...]:
    """The changes, each with a trial of this night to look at: one of the last run that has any."""
    shifts = tuple(shifts)
    cells = [(shift.eval, shift.subject) for shift in shifts]
    examples: dict[tuple[str, str], tuple[str, Sequence[TrialOutcome]]] = {}
    for run in night.names:
        examples |= {cell: (run, trials) for cell, trials in outcomes(history, run, cells).items() if trials}
    return tuple(
        replace(shift, example=_example(trials), example_run=run)
        for shift in shifts
        for run, trials in [examples.get((shift.eval, shift.subject), ("", ()))]
    )


def _example(trials: Sequence[TrialOutcome]) -> int | None:
    failed = [trial for trial in trials if trial.outcome == "fail"]
    return next((trial.number for trial in (*failed, *trials)), None)


def _notes(run: PastRun) -> tuple[str, ...]:
    if run.info.kind == "nightly":
        return ()
    return (f"this is a {run.info.kind} run, compared with the nights before it",)
