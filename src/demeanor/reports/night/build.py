"""Make the night report from runs and their cells."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from demeanor.core.text.wording import all_of, count
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.history import Night, RunCell
from demeanor.core.values.policy import Policy
from demeanor.core.values.run_diff import Part, RunDiff
from demeanor.core.values.tally import Tally
from demeanor.core.values.usage import total
from demeanor.core.values.verdict import VoidCause
from demeanor.decide import exit_code
from demeanor.decide.nights import RateShift, changes, rate_shifts
from demeanor.reports.night.report import (
    BatchNights,
    FailingCell,
    FailureMode,
    NightChange,
    NightReport,
    NightRow,
    NightStep,
    NightTotal,
    SubjectNights,
)
from demeanor.reports.night.rows import Needed, night_row
from demeanor.reports.run import Failure
from demeanor.results import LAST_NIGHTS, mean_rate, summary
from demeanor.statistics import NIGHTS_BETWEEN_FALSE_ALARMS, paired_rates

_VERDICTS: Mapping[ExitCode, Literal["accepted", "rejected", "undecided"]] = {
    ExitCode.ACCEPTED: "accepted",
    ExitCode.REJECTED: "rejected",
    ExitCode.UNDECIDED: "undecided",
}


def night_report(
    nights: Sequence[Night],
    cells: Iterable[RunCell],
    *,
    shown: int | None = None,
    notes: tuple[str, ...] = (),
    needed: Needed | None = None,
    shifts: Sequence[RateShift] | None = None,
    void_causes: Mapping[tuple[str, str], Mapping[VoidCause, int]] | None = None,
) -> NightReport:
    """The report of the last of these nights, and of those before it; with `shown`, only the last ones have columns.

    `shifts` are the changes of rates, if they were looked for in earlier nights as well; else in these nights only.
    The report of a night, which should have all evals, includes those that only earlier nights have: a cell that the
    nights of the week before judged on the same branch, and no run of this one tried, is undecided.
    """
    tonight, before = nights[-1], nights[:-1][-LAST_NIGHTS:]
    lost = tuple(dict.fromkeys(part for run in tonight.runs for part in run.info.lost))
    unread = _unread(tonight)
    recent = {night.name for night in before if night.info.branch == tonight.info.branch}
    nights = nights if shown is None else nights[-shown:]
    runs = [night.name for night in nights]
    cells = tuple(cells)
    whole = nights[-1].info.kind == "nightly"
    by_subject: dict[str, dict[str, dict[str, RunCell]]] = {}
    for cell in sorted(cells, key=lambda cell: cell.run != runs[-1]):  # this night's order of evals comes first
        rows = (
            by_subject.setdefault(cell.subject, {}) if whole or cell.run == runs[-1] else by_subject.get(cell.subject)
        )
        if rows is not None and (whole or cell.run == runs[-1] or cell.eval in rows):
            rows.setdefault(cell.eval, {})[cell.run] = cell
    kept = {*runs, *recent}
    changes = sum(
        by_run[runs[-1]].judged > 0 and any(by_run[run].judged for run in runs[:-1] if run in by_run)
        for rows in by_subject.values()
        for by_run in rows.values()
        if runs[-1] in by_run
    )
    subjects = tuple(
        _subject(
            name,
            {name: own for name, by_run in rows.items() if (own := {r: c for r, c in by_run.items() if r in kept})},
            runs,
            recent=recent if whole else (),
            comparisons=changes,
            needed=needed,
            void_causes=void_causes or {},
            lost=lost,
        )
        for name, rows in by_subject.items()
    )
    decided = [row for subject in subjects for row in subject.rows if row.decision is not None]
    missing = lost if any(row.tonight.missing for row in decided) else ()
    verdict = _VERDICTS.get(exit_code([row.decision for row in decided if row.decision]), "undecided")
    gaps = [*missing, "some evals could not be read"] if unread else missing
    return NightReport(
        run=nights[-1].info,
        verdict="undecided" if unread and verdict == "accepted" else verdict,
        reason=" · ".join((*gaps, _reason(decided))),
        nights=tuple(nights),
        subjects=subjects,
        batch=_batch(by_subject, subjects, runs) if len(subjects) > 1 else None,
        notes=(*unread, *notes),
        shifts=rate_shifts(cells, {*runs}, runs[-1]) if shifts is None else tuple(shifts),
        false_alarms=7 * len({row.eval for row in decided if row.tonight.judged}) / NIGHTS_BETWEEN_FALSE_ALARMS,
    )


def _unread(tonight: Night) -> tuple[str, ...]:
    """What could not be read in a night; a later run of the same paths counts instead of an earlier one."""
    by_paths = {str(run.info.arguments.get("paths")): run.info.unread for run in tonight.runs}
    return tuple(dict.fromkeys(line for lines in by_paths.values() for line in lines))


def _reason(rows: Sequence[NightRow]) -> str:
    answers = [row.decision.answer for row in rows if row.decision is not None]
    voided, untried = sum(row.tonight.voided for row in rows), sum(row.tally is None for row in rows)
    parts = [
        f"{answers.count('reject')} of {count(len(answers), 'cell')} rejected" if "reject" in answers else "",
        f"{answers.count('undecided')} undecided{_untried(untried)}" if "undecided" in answers else "",
        f"{answers.count('skipped')} skipped" if "skipped" in answers else "",
        f"{count(voided, 'void trial')}, not counted" if voided else "",
    ]
    return (
        " · ".join(filter(None, parts)) or f"{all_of(len(answers), 'cell')} {'holds' if len(answers) == 1 else 'hold'}"
    )


def _untried(cells: int) -> str:
    return f" ({cells} not tried)" if cells else ""


def failing(report: NightReport) -> list[tuple[NightRow, str]]:
    """The rows with failed trials in this run, with their subject: rejected ones first, then the lowest rates."""
    rows = [
        (row, nights.subject)
        for nights in report.subjects
        for row in nights.rows
        if row.tonight.failed and row.policy is not Policy.USUALLY_FAILS
    ]
    return sorted(rows, key=lambda pair: (not _rejected(pair[0]), pair[0].tonight.passed / pair[0].tonight.judged))


def voided(report: NightReport) -> list[tuple[NightRow, str]]:
    """The rows with void trials in this run, those without judged trials first."""
    rows = [(row, nights.subject) for nights in report.subjects for row in nights.rows if row.tonight.voided]
    return sorted(rows, key=lambda pair: pair[0].tonight.judged > 0)


def most_important(rows: Sequence[NightRow], limit: int) -> list[NightRow]:
    """At most `limit` rows, in order: prefers rows that are not accepted, changed significantly, or have failures."""
    if len(rows) <= limit:
        return list(rows)
    kept = {id(row) for row in sorted(rows, key=_unimportance)[:limit]}
    return [row for row in rows if id(row) in kept]


def _unimportance(row: NightRow) -> tuple[bool, bool, bool]:
    accepted = row.decision is not None and row.decision.answer == "accept" and not row.decision.news
    clear = row.change is not None and row.change.clear
    return accepted, not clear, not row.tonight.failed


def failing_cell(name: str, subject: str, failures: Iterable[tuple[str, Failure]]) -> FailingCell:
    """Why trials of one eval did not pass, from the failures of each run."""
    modes = tuple(
        FailureMode(reason=failure.reason, trials=tuple(failure.numbers), chain=failure.trials[0].chain, run=run)
        for run, failure in failures
    )
    return FailingCell(eval=name, subject=subject, ways=modes)


def _rejected(row: NightRow) -> bool:
    return row.decision is not None and row.decision.answer == "reject"


def _subject(
    subject: str,
    by_eval: dict[str, dict[str, RunCell]],
    runs: Sequence[str],
    *,
    recent: Collection[str],
    comparisons: int,
    needed: Needed | None,
    void_causes: Mapping[tuple[str, str], Mapping[VoidCause, int]],
    lost: Sequence[str],
) -> SubjectNights:
    rows, seen = [], []
    for name, by_run in by_eval.items():
        own = tuple(changes([by_run[run] for run in runs if run in by_run and by_run[run].judged]))
        seen += [(name, change) for change in own]
        causes = void_causes.get((name, subject))
        rows.append(
            night_row(
                name,
                by_run,
                runs,
                seen=own,
                recent=recent,
                changes=comparisons,
                needed=needed,
                void_causes=causes,
                lost=lost,
            )
        )
    return SubjectNights(
        subject=subject,
        rows=tuple(rows),
        totals=tuple(_total([by_run[run] for by_run in by_eval.values() if run in by_run]) for run in runs),
        change=_change(rows, runs),
        summary=next(iter(summary([row.tally for row in rows if row.tally] or [_nothing(subject)]))),
        changes=tuple(_group_changes(seen, runs)),
    )


def _batch(
    by_eval: Mapping[str, Mapping[str, Mapping[str, RunCell]]], subjects: Sequence[SubjectNights], runs: Sequence[str]
) -> BatchNights:
    cells = [by_run for rows in by_eval.values() for by_run in rows.values()]
    return BatchNights(
        totals=tuple(_total([by_run[run] for by_run in cells if run in by_run]) for run in runs),
        change=_change([row for subject in subjects for row in subject.rows], runs),
    )


def _nothing(subject: str) -> Tally:
    return Tally(eval="", subject=subject, policy=Policy.USUALLY_PASSES)


def _total(cells: Sequence[RunCell]) -> NightTotal:
    judged = [cell for cell in cells if cell.judged and cell.policy is not Policy.USUALLY_FAILS]
    known_bad = [cell for cell in cells if cell.judged and cell.policy is Policy.USUALLY_FAILS]
    spent, _, _ = total(cell.spent for cell in cells if cell.attempts)
    return NightTotal(
        rate=mean_rate(judged) if judged else None,
        judged=len(judged),
        known_bad=len(known_bad),
        known_bad_rate=mean_rate(known_bad) if known_bad else None,
        evals=len(cells),
        voided=sum(cell.voided for cell in cells),
        spent=spent,
        unpriced=sum(cell.unpriced for cell in cells),
        uncounted=sum(cell.uncounted for cell in cells),
    )


def _change(rows: Sequence[NightRow], runs: Sequence[str]) -> NightStep | None:
    """The mean change since the last night with data, over the evals that were judged both times and not edited;
    without USUALLY_FAILS."""
    rows = [row for row in rows if row.policy is not Policy.USUALLY_FAILS]
    for index in range(len(runs) - 2, -1, -1):
        if any(row.cells[index].judged for row in rows):
            pairs = [
                (row.cells[index], row.tonight)
                for row in rows
                if row.cells[index].judged and row.tonight.judged and not _edited(row, index)
            ]
            difference = paired_rates(
                [[(a.passed, a.judged)] for a, _ in pairs], [[(b.passed, b.judged)] for _, b in pairs]
            )
            if difference is None:
                return None
            alike = not any(_differs(row, index) for row in rows)
            return NightStep(
                value=difference.value,
                low=difference.low,
                high=difference.high,
                since=runs[index],
                alike=alike,
                clear=difference.low > 0 or difference.high < 0,
                evals=difference.pairs,
            )
    return None


def _edited(row: NightRow, index: int) -> bool:
    return any("eval" in cell.marks for cell in row.cells[index + 1 :])


def _differs(row: NightRow, index: int) -> bool:
    later = row.cells[index + 1 :]
    return row.cells[index].mixed or any("subject" in cell.marks or cell.mixed for cell in later)


def _group_changes(seen: Iterable[tuple[str, RunDiff]], runs: Sequence[str]) -> Iterable[NightChange]:
    """Combine equal changes of several evals, and edits of several evals in one night."""
    groups: dict[tuple[str, Part], dict[tuple[str, str], list[str]]] = {}
    for name, change in seen:
        groups.setdefault((change.run, change.part), {}).setdefault((change.before, change.after), []).append(name)
    for (run, part), values in sorted(groups.items(), key=lambda item: (runs.index(item[0][0]), item[0][1])):
        names = tuple(dict.fromkeys(name for own in values.values() for name in own))
        before, after = next(iter(values)) if len(values) == 1 else ("", "")
        yield NightChange(run=run, part=part, before=before, after=after, evals=names)
