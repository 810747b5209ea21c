"""Run trials that start from steps of a stored trial: from one step, or from those that a scan asks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from demeanor.core.text.percent import share
from demeanor.core.text.wording import count
from demeanor.core.trees.atomic_file import write_atomically
from demeanor.core.values.errors import StoreError, UsageError
from demeanor.core.values.exchange import Response
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.progress import AttemptJudged, Progress
from demeanor.core.values.record import Record, last_attempts
from demeanor.core.values.run_request import RunRequest
from demeanor.core.values.trial import Cell, Plan, Trial
from demeanor.core.values.usage import total
from demeanor.core.values.verdict import Pass, Void
from demeanor.plugins.lab.bisect.commit_trials import tries_of
from demeanor.plugins.lab.bisect.report import BisectOutcome
from demeanor.plugins.lab.bisect.rules import AT_THE_ENDS, Search
from demeanor.plugins.lab.fork.report import (
    FORK_DOCUMENT,
    DecisiveStep,
    ForkOutcome,
    ForkReport,
    ForkStep,
    OtherAnswer,
)
from demeanor.plugins.lab.fork.source import ForkSource, describe_turn, stored_beside
from demeanor.results import SCAN_FILE
from demeanor.runner import UI, Catalog, RunResult, execute, plan_evals, prepare
from demeanor.statistics import Tries, most_telling, wilson
from demeanor.store.runs import RunFolder

FORKS = "forks"
"""The folder of the runs of forks, below the results: they are not runs of the project's evals."""


_VOIDS = 2
"""A step is given up if this many of its trials are void and none could be judged."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ForkOptions:
    """How trials are forked."""

    request: RunRequest
    """The options of the run: subject, intervention, limits."""

    environ: Mapping[str, str]
    """The environment, which contains API keys."""

    results: Path
    """The results folder."""

    instead: Response | None = None
    """The answer that is given at the step; None to ask the model."""

    changed: tuple[str, ...] = ()
    """What differs from the recorded trial from the step on."""


@dataclass(kw_only=True)
class ForkState:
    """The trials of a scan so far."""

    cells: Sequence[Cell]
    """The cell of each place; see `Scan`."""

    timeout: float
    """The time limit of a trial."""

    confidence: float = 0.95
    """The required probability."""

    at_once: int = 2
    """Trials that start from a step before the next step is chosen."""

    most: int = 100
    """The maximum number of trials, including void ones."""

    asked: Counter[int] = field(default_factory=Counter)
    """Place → trials requested so far."""

    records: dict[int, list[Record]] = field(default_factory=dict)
    """Place → its trials that have ended."""

    def watch(self, news: Progress) -> None:
        """Note the end of a trial."""
        if isinstance(news, AttemptJudged) and news.record.final:
            place = next(index for index, cell in enumerate(self.cells) if cell.id == news.record.cell)
            self.records.setdefault(place, []).append(news.record)

    @property
    def scan(self) -> Scan:
        """The state of the search."""
        tries = {place: tries_of(records) for place, records in self.records.items()}
        barred = {
            place for place, records in self.records.items() if not tries[place].judged and len(records) >= _VOIDS
        }
        judged = {place: try_ for place, try_ in tries.items() if try_.judged}
        return Scan(tries=judged, steps=len(self.cells), barred=frozenset(barred), confidence=self.confidence)

    def next_trials(self) -> list[Trial]:
        """The trials of the next round; none at the end of the scan."""
        scan, left = self.scan, self.most - self.asked.total()
        if scan.outcome() is not None or left < 1:
            return []
        place = scan.next()
        number = AT_THE_ENDS if place == 0 and not self.asked[0] else self.at_once
        return self._trials(place, min(number, left))

    @property
    def progress(self) -> str:
        """The state of the scan in a line."""
        first, last, chance = self.scan.decisive()
        steps = f"step {first}" if first == last else f"steps {first} to {last}"
        return f"{count(self.asked.total(), 'trial')} · most likely decisive: {steps} ({share(chance)})"

    def _trials(self, place: int, more: int) -> list[Trial]:
        cell, first = self.cells[place], self.asked[place] + 1
        self.asked[place] += more
        return [
            Trial(eval=cell.eval, subject=cell.subject, number=number, timeout=self.timeout)
            for number in range(first, first + more)
        ]

    def planned(self) -> Plan:
        """The plan at the start of the scan, with the first trials."""
        first = tuple(self.next_trials())
        cells = [replace(cell, trials=first if index == 0 else ()) for index, cell in enumerate(self.cells)]
        return Plan(cells=tuple(cells))


def fork_at(source: ForkSource, step: int, catalog: Catalog, options: ForkOptions, ui: UI) -> ForkReport:
    """Run trials that start at a step; raises UsageError if there is no such step."""
    source.require_step(step)
    plan = _plan(source, [step], catalog, options)
    run = prepare(catalog, plan, options.request, options.results / FORKS, in_history=False, log=ui.log)
    result = execute(run, ui=ui)
    records = last_attempts(result.records)
    judged = tries_of(records).judged
    report = _report(source, result, {step - 1: records}, catalog, options)
    outcome = ForkOutcome.MEASURED if judged else ForkOutcome.UNDECIDED
    return _ended(replace(report, at=step), outcome, result)


def fork_scan(
    source: ForkSource, catalog: Catalog, options: ForkOptions, ui: UI, *, confidence: float, at_once: int, most: int
) -> ForkReport:
    """Find the step of a failed trial at which its chance of passing fell."""
    if source.record.verdict.outcome != "fail":
        raise UsageError(
            f"{source.record.trial}: --scan finds where a trial went wrong, but its verdict is"
            f" {source.record.verdict.outcome}\n  → choose a trial that failed, or use --at K"
        )
    plan = _plan(source, range(1, len(source.did) + 1), catalog, options)
    state = ForkState(
        cells=plan.cells,
        timeout=next(plan.trials()).timeout,
        confidence=confidence,
        at_once=at_once,
        most=most,
    )
    run = prepare(catalog, state.planned(), options.request, options.results / FORKS, in_history=False, log=ui.log)

    def more() -> list[Trial]:
        ui.log(state.progress)
        return state.next_trials()

    result = execute(run, ui=ui, watch=state.watch, more=more)
    return _ended(_scan_report(source, state, result, catalog, options), _scan_outcome(state), result)


def store_scan(report: ForkReport, source: ForkSource, catalog: Catalog) -> ForkReport:
    """Store the report of a scan beside the recorded trial, for its page in the dashboard."""
    folder = stored_beside(source)
    if folder is None or not report.trials:
        return report
    try:
        write_atomically(folder / SCAN_FILE, catalog.redactor.text(FORK_DOCUMENT.write(report)))
    except OSError as error:
        return replace(report, notes=(*report.notes, f"{folder}: the scan can't be stored: {error.strerror}"))
    return report


def _plan(source: ForkSource, steps: Sequence[int], catalog: Catalog, options: ForkOptions) -> Plan:
    """A cell for each step; raises UsageError if its trials can't run."""
    evals = source.forked.starting_at(steps, instead=options.instead)
    plan = plan_evals(catalog, evals, options.request, options.environ)
    for cell in plan.cells:
        if cell.skipped is not None:
            raise UsageError(f"{source.record.trial}: it can't be forked: {cell.skipped}")
    return plan


def _scan_outcome(state: ForkState) -> ForkOutcome:
    return {
        BisectOutcome.FOUND: ForkOutcome.FOUND,
        BisectOutcome.NO_DIFFERENCE: ForkOutcome.NO_DROP,
    }.get(state.scan.outcome() or BisectOutcome.UNDECIDED, ForkOutcome.UNDECIDED)


def _ended(report: ForkReport, outcome: ForkOutcome, result: RunResult) -> ForkReport:
    """The report with its outcome and exit code."""
    stopped = (result.stopped,) if result.stopped else ()
    interrupted = ("interrupted",) if result.interrupted else ()
    code = ExitCode.INTERRUPTED if result.interrupted else outcome.exit_code
    return replace(report, outcome=outcome, exit_code=code, notes=(*stopped, *interrupted, *report.notes))


def _report(
    source: ForkSource,
    result: RunResult,
    records: Mapping[int, Sequence[Record]],
    catalog: Catalog,
    options: ForkOptions,
) -> ForkReport:
    """The report of trials by place."""
    trials = [record for own in records.values() for record in own]
    judged = tries_of(trials).judged
    redact = catalog.redactor.text
    steps = [_step(place, redact(did), records.get(place, ())) for place, did in enumerate(source.did)]
    return ForkReport(
        trial=source.record.trial,
        run=source.run.name,
        recorded=source.record.verdict.outcome,
        subject=options.request.subjects[0],
        outcome=ForkOutcome.UNDECIDED,
        exit_code=ExitCode.UNDECIDED,
        steps=tuple(steps),
        changed=options.changed,
        trials=judged,
        voided=len(trials) - judged,
        cost_usd=total(record.spent for record in result.records).spent.cost_usd,
        folder=str(result.folder),
        notes=result.notes,
    )


def _step(place: int, did: str, records: Sequence[Record]) -> ForkStep:
    tries = tries_of(records)
    interval = wilson(tries.passed, tries.judged) if tries.judged else None
    voids = [record.verdict.reason for record in records if isinstance(record.verdict, Void)]
    return ForkStep(
        step=place + 1,
        did=did,
        passed=tries.passed,
        failed=tries.failed,
        voided=len(voids),
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        why_void=voids[-1] if voids and not tries.judged else "",
    )


def _scan_report(
    source: ForkSource, state: ForkState, result: RunResult, catalog: Catalog, options: ForkOptions
) -> ForkReport:
    scan = state.scan
    report = _report(source, result, state.records, catalog, options)
    chances = scan.search.belief.chances()
    first, last, chance = scan.decisive()
    before = [record for place, own in state.records.items() if place < first for record in own]
    after = [record for place, own in state.records.items() if place >= last for record in own]
    decisive = DecisiveStep(
        step=first,
        until=last,
        confidence=chance,
        before=(tries_of(before).passed, tries_of(before).judged),
        after=(tries_of(after).passed, tries_of(after).judged),
        did=report.steps[first - 1].did,
        instead=_instead(state.records.get(first - 1, ()), first, result),
    )
    notes = report.notes
    if scan.outcome() is None and result.stopped is None and not result.interrupted:
        notes = (f"stopped after {count(state.most, 'trial')}; a larger --max-trials allows more", *notes)
    return replace(
        report,
        steps=tuple(replace(step, chance=chances[step.step]) for step in report.steps),
        decisive=decisive,
        no_drop=scan.search.belief.none,
        asked_confidence=state.confidence,
        notes=notes,
    )


def _instead(records: Sequence[Record], step: int, result: RunResult) -> tuple[OtherAnswer, ...]:
    """What the trials that passed did at a step, the most frequent first."""
    folder, answers = RunFolder(result.folder), Counter[str]()
    for record in records:
        if isinstance(record.verdict, Pass):
            try:
                answers[describe_turn(folder.events(record), step)] += 1
            except StoreError as error:
                answers[f"(unknown: {str(error).splitlines()[0]})"] += 1
    return tuple(OtherAnswer(did=did, trials=number) for did, number in answers.most_common())


# The rule of a scan: from which step to start the next trials, and when to stop.
#
# Place p means that the first p answers of the recorded trial are replayed, so trials at place p start at step p +
# 1. At place 0 everything is open; at the last place everything is replayed, which ends as the recorded trial did:
# it failed, so no trial is needed there. The chance of passing drops at some place; the step replayed last there is
# the decisive one. Trials start from place 0 until it is clear that the chance was higher there, then from the
# place whose next trial has the highest expected information about the drop (statistics/bisection.py).

_DOUBTFUL = 0.2
"""If the probability that the chance does not drop is at least this, trials start from place 0 only."""

RECORDED = Tries(0, 6)
"""What the recorded trial says about the last place. There every trial fails, but the chance after the drop is shared
by all places behind it: with fewer, a drop at the last step is found late; with more, chances above 0 are not believed
(3, 6 and 10 were simulated)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scan:
    """The trials of a scan so far, and what follows from them."""

    tries: Mapping[int, Tries]
    """Place → its trials."""

    steps: int
    """The number of steps of the recorded trial, which is also the last place."""

    barred: frozenset[int] = frozenset()
    """Places from which no trial can be judged."""

    confidence: float = 0.95
    """The required probability; one minus it is the error rate of the scan."""

    search: Search = field(init=False)
    """The same as a search for the change between two versions."""

    def __post_init__(self) -> None:
        tries = {**self.tries, self.steps: RECORDED}
        search = Search(tries=tries, last=self.steps, barred=self.barred, confidence=self.confidence)
        object.__setattr__(self, "search", search)

    def outcome(self) -> BisectOutcome | None:
        """The result; None to continue."""
        if self.tries.get(0, Tries()).judged < AT_THE_ENDS and 0 not in self.barred:
            return None
        return self.search.outcome() if self.open_places else BisectOutcome.UNDECIDED

    @property
    def open_places(self) -> tuple[int, ...]:
        """The places from which trials can start."""
        return tuple(place for place in range(self.steps) if place not in self.barred)

    def next(self) -> int:
        """The place from which the next trials start."""
        belief = self.search.belief
        first = self.tries.get(0, Tries()).judged < AT_THE_ENDS or belief.none >= _DOUBTFUL
        among = (0,) if first and 0 not in self.barred else self.open_places
        return most_telling(belief, among)

    def decisive(self) -> tuple[int, int, float]:
        """The first and the last step that may be the decisive one, as places can't be told apart where no trial can be
        judged, and the probability that one of them is."""
        suspects = self.search.suspects()
        return suspects.first, suspects.last, suspects.chance
