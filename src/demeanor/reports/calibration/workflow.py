"""Compare the stored verdicts of a judged eval with labels of people, and store the error rates in the history."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from demeanor.config import Config
from demeanor.core.text.codec import encode
from demeanor.core.text.wording import count
from demeanor.core.values.errors import DemeanorError, StoreError, UnknownName, UsageError
from demeanor.core.values.eval import Eval
from demeanor.core.values.fingerprints import asks_judge, judge_identity
from demeanor.core.values.history import KeptDecision, RunCell
from demeanor.core.values.record import Record
from demeanor.core.values.verdict import Void
from demeanor.decide.nights import count as trials_of, since_new_model
from demeanor.render import SUBJECT_MARK, percent
from demeanor.reports.calibration.report import CalibrationReport, ErrorRateEstimate, LabelSplit
from demeanor.results import (
    COUNTS,
    TRIALS,
    CorrectedRate,
    Label,
    StoredRun,
    corrected_rate,
    eval_hashes,
    find_stored_run,
    keep_decisions,
    labels_of_file,
    labels_of_notes,
    open_project_history,
)
from demeanor.runner import choose_evals
from demeanor.statistics import LabelledCounts, cohens_kappa, wilson
from demeanor.store.captures import capture_text, open_capture_store, read_capture_answers
from demeanor.store.history import SqlHistory, read_notes
from demeanor.store.runs import read_judge_answers

_LABEL = "demeanor trace TRIAL --label real"


class NoLabels(UsageError):
    """An eval without labels that can be compared with its judge's verdicts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Compared:
    """A labelled trial and the judge's verdict about it."""

    label: Label
    record: Record
    good: bool


def calibrate(
    name: str, config: Config, environ: Mapping[str, str], *, results: Path, labels: Path | None = None
) -> tuple[CalibrationReport, ...]:
    """Measure the error rates of the judge of an eval, or of each of its cases with labels, and store them."""
    evals = _evals(name, config)
    reports: list[CalibrationReport] = []
    unlabelled: dict[str, NoLabels] = {}
    for eval_ in evals:
        try:
            reports.append(_calibrate(eval_, config, environ, results=results, labels=labels))
        except NoLabels as error:
            unlabelled[eval_.name] = error
    if not reports and len(evals) > 1:
        raise NoLabels(f"{name}: none of its {len(evals)} cases has labels to compare with\n  → {_LABEL}")
    if not reports:
        raise unlabelled[name]
    if unlabelled:
        left_out = f"cases without labels, not measured: {', '.join(unlabelled)}"
        reports[-1] = replace(reports[-1], notes=(*reports[-1].notes, left_out))
    return tuple(reports)


def _calibrate(
    eval_: Eval, config: Config, environ: Mapping[str, str], *, results: Path, labels: Path | None
) -> CalibrationReport:
    name = eval_.name
    with open_project_history(config, environ, results=results) as history:
        if labels is None:
            own_labels = list(labels_of_notes(read_notes(history, name=name)))
        else:
            own_labels = list(labels_of_file(labels, name, history.run("latest").name))
        current = eval_hashes([eval_])[name]
        notes: list[str] = []
        compared = list(_compared(history, eval_, own_labels, current, notes))
        consistency = _consistency(compared, config, environ, results, notes)
        measured = tuple(cell for cell in history.eval_history(name) if cell.eval_hash == current and cell.judged)
    if not compared:
        used = "".join(f"\n  {note}" for note in notes)
        raise NoLabels(f"{name}: there are no labels to compare with{used}\n  → {_LABEL}")
    passed, left_out = latest_counts(measured)
    report = _report(eval_, compared, consistency, (*notes, *left_out), passed)
    trials = [[this.label.run, this.label.subject, this.label.number] for this in compared]
    kept = keep_decisions(config, environ, results, [_kept(report, trials)])
    return replace(report, notes=(*report.notes, *kept))


def _evals(name: str, config: Config) -> Sequence[Eval]:
    """The eval of this name, or all cases of it."""
    every = choose_evals(config)
    chosen = [eval_ for eval_ in every if name in {eval_.name, eval_.cases_of}]
    if not chosen:
        raise UnknownName("eval", name, {other for eval_ in every for other in (eval_.name, eval_.cases_of) if other})
    if not any(map(asks_judge, chosen)):
        raise UsageError(f"{name} asks no judge\n  → use rig.judge(…) or [[judge]]: demeanor help judges")
    return chosen


def _compared(
    history: SqlHistory, eval_: Eval, labels: Sequence[Label], current: str, notes: list[str]
) -> Iterator[_Compared]:
    """The labelled trials that the judge, as it is now, has judged."""
    other = void = unknown = 0
    for label in labels:
        try:
            trials = history.trials(label.run, name=eval_.name, subject=label.subject)
        except UnknownName:
            trials = ()
        record = next((trial for trial in trials if trial.number == label.number), None)
        good = label.is_good(record) if record is not None else None
        if record is None:
            unknown += 1
        elif isinstance(record.verdict, Void) or good is None:
            void += 1
        elif record.eval_hash != current:
            other += 1
        else:
            yield _Compared(label=label, record=record, good=good)
    for number, why in (
        (unknown, "not in the history"),
        (void, "void: the judge gave no answer"),
        (other, "judged by another version of the eval or its judge"),
    ):
        if number:
            notes.append(f"{count(number, 'label')} not used, since the trial is {why}")


def _counts(compared: Iterable[_Compared]) -> LabelledCounts:
    cells = [(pair.good, pair.record.verdict.outcome == "pass") for pair in compared]
    return LabelledCounts(
        cells.count((True, True)), cells.count((True, False)), cells.count((False, True)), cells.count((False, False))
    )


def _consistency(
    compared: Sequence[_Compared], config: Config, environ: Mapping[str, str], results: Path, notes: list[str]
) -> ErrorRateEstimate | None:
    """The share of labelled trials about which all votes agree: those of a panel, and answers to repeated questions."""
    runs: dict[str, StoredRun] = {}
    repeated = agreed = 0
    captures = open_capture_store(config)
    for pair in compared:
        try:
            run = runs.setdefault(pair.label.run, find_stored_run(pair.label.run, results, config, environ))
            text, where = capture_text(pair.record, run=run.folder, captures=captures, home=run.place.source)
            later = read_judge_answers(run.folder.folder if run.folder else None)
            answers = (
                *read_capture_answers(text, where=where),
                *later.get((pair.record.trial, pair.record.attempt), ()),
            )
        except DemeanorError as error:
            problem = str(error).splitlines()[0]
            if isinstance(error, StoreError) and problem not in notes:
                notes.append(problem)
            continue
        votes: dict[str, list[str]] = {}
        for answer in answers:
            votes.setdefault(answer.key, []).extend(vote.answer for vote in answer.votes)
        several = [words for words in votes.values() if len(words) > 1]
        repeated += bool(several)
        agreed += bool(several) and all(len(set(words)) == 1 for words in several)
    return _estimate(agreed, repeated)


def _estimate(number: int, trials: int) -> ErrorRateEstimate | None:
    if not trials:
        return None
    low, high = wilson(number, trials)
    return ErrorRateEstimate(value=number / trials, low=low, high=high, trials=trials)


def latest_counts(cells: Iterable[RunCell]) -> tuple[dict[str, tuple[int, int]], list[str]]:
    """Passed and judged trials by subject, of the runs with its present model; and notes about the runs left out."""
    cells_of: dict[str, list[RunCell]] = {}
    for cell in cells:
        cells_of.setdefault(cell.subject, []).append(cell)
    counts, notes = {}, []
    for subject, own in cells_of.items():
        latest = since_new_model(own)
        passed, failed = trials_of(latest)
        counts[subject] = (passed, passed + failed)
        if len(latest) < len(own):
            earlier = count(len(own) - len(latest), "earlier run")
            notes.append(f"{SUBJECT_MARK} the model of {subject} has changed: its corrected rate is without {earlier}")
    return counts, notes


def _report(
    eval_: Eval,
    compared: Sequence[_Compared],
    consistency: ErrorRateEstimate | None,
    notes: Sequence[str],
    measured: Mapping[str, tuple[int, int]],
) -> CalibrationReport:
    held = _counts(this for this in compared if this.label.held_out(eval_.name))
    tuning = _counts(this for this in compared if not this.label.held_out(eval_.name))
    agreement = cohens_kappa(held)
    kappa = None
    if agreement is not None:
        kappa = ErrorRateEstimate(value=agreement[0], low=agreement[1].low, high=agreement[1].high, trials=sum(held))
    rates: tuple[CorrectedRate, ...] = ()
    if held.informative:
        rates = tuple(corrected_rate(subject, *numbers, held) for subject, numbers in measured.items())
    return CalibrationReport(
        eval=eval_.name,
        judge=judge_identity(eval_),
        model=eval_.judge.model,
        held_out=LabelSplit(**held._asdict()),
        tuning=LabelSplit(**tuning._asdict()),
        sensitivity=_estimate(held.passed_good, held.good),
        specificity=_estimate(held.failed_bad, held.bad),
        kappa=kappa,
        base_rate=held.good / sum(held) if sum(held) else None,
        consistency=consistency,
        answer="calibrated" if _is_better_than_chance(held) else "undecided",
        reason=_reason(held),
        rates=rates,
        notes=tuple(notes),
    )


def _is_better_than_chance(held: LabelledCounts) -> bool:
    """Whether the labels show it: the lower ends of both intervals add up to more than 1."""
    if not held.informative:
        return False
    return wilson(held.passed_good, held.good).low + wilson(held.failed_bad, held.bad).low > 1


def _reason(held: LabelledCounts) -> str:
    if not held.good or not held.bad:
        lacking = "good" if not held.good else "bad"
        return f"no held-out label says {lacking}: label more trials, passed and failed ones"
    total = held.sensitivity + held.specificity
    sums = f"sensitivity {percent(held.sensitivity)} + specificity {percent(held.specificity)}"
    if total <= 1:
        return f"{sums} is not above 100 %: the judge does not do better than chance, so its answers prove nothing"
    from_ = f"{sums}, from {count(held.good, 'good trial')} and {count(held.bad, 'bad trial')}"
    if not _is_better_than_chance(held):
        return f"{from_}: too few labels to show that the judge is better than a coin"
    return from_


def _kept(report: CalibrationReport, trials: Sequence[Sequence[object]]) -> KeptDecision:
    held = report.held_out
    counts = [held.passed_good, held.failed_good, held.passed_bad, held.failed_bad]
    return KeptDecision(
        made=datetime.now(UTC).isoformat(timespec="milliseconds"),
        ruling="calibrate",
        eval=report.eval,
        answer=report.answer,
        rule="held_out",
        reason=report.reason,
        eval_hash=report.judge,
        evidence={COUNTS: counts, TRIALS: trials, "report": encode(report)},
    )
