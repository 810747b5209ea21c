"""Make the report of `cover` from the state of its search."""

from __future__ import annotations

from collections.abc import Sequence

from demeanor.core.text.wording import count
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.usage import total
from demeanor.plugins.lab.cover.rules import CoverState, EvalSearch, HeldBy, covered
from demeanor.plugins.lab.cover.workflow import CoverRun
from demeanor.reports.prompt_coverage import Coverage, CoveredInstruction, CoveringEval, CoverReport, NoticedBy
from demeanor.results import LocatedInstruction
from demeanor.runner import RunResult


def make_cover_report(
    run: CoverRun,
    result: RunResult,
    located: Sequence[LocatedInstruction],
    *,
    since: str | None,
    min_coverage: float | None,
) -> CoverReport:
    """Make the report."""
    state = run.update()
    coverage = coverage_of(state)
    complete = not state.next() and coverage.tried == coverage.instructions
    places = {instruction.instruction.id: instruction for instruction in located}
    return CoverReport(
        subject=str(run.plan.cells[0].subject),
        run=result.info.id,
        folder=str(result.folder),
        coverage=coverage,
        min_coverage=min_coverage,
        complete=complete,
        exit_code=ExitCode.INTERRUPTED if result.interrupted else decide(coverage, min_coverage, complete=complete),
        operator=run.operator,
        drop=run.rule.drop,
        sure=run.rule.sure,
        false_alarm=run.rule.false_alarm,
        since=since,
        instructions=tuple(_row(state, places[instruction]) for instruction in state.instructions),
        prompt=run.prompt(),
        evals=tuple(_eval(search, run) for search in state.searches),
        trials=run.trials,
        voided=run.voided,
        reused=run.reused,
        cost_usd=total(record.spent for record in run.records).spent.cost_usd,
        notes=(*_notes(run, state, result), *result.notes),
    )


def decide(coverage: Coverage, least: float | None, *, complete: bool) -> ExitCode:
    """The exit code: a search that stopped early is accepted or rejected only if the rest can't change that."""
    if least is None or coverage.rate is None:
        return ExitCode.ACCEPTED if complete else ExitCode.UNDECIDED
    if complete:
        return ExitCode.ACCEPTED if coverage.rate >= least else ExitCode.REJECTED
    untried = coverage.instructions - coverage.tried
    if coverage.held / coverage.instructions >= least:
        return ExitCode.ACCEPTED
    return ExitCode.REJECTED if (coverage.held + untried) / coverage.instructions < least else ExitCode.UNDECIDED


def coverage_of(state: CoverState) -> Coverage:
    """The total, with its interval."""
    held, counts, tried = covered(state)
    number = len(state.instructions)
    return Coverage(
        held=held,
        tried=tried,
        instructions=number,
        rate=held / tried if tried else None,
        low=counts.start / number if number else None,
        high=min(1.0, (counts.stop - 1) / number) if number else None,
    )


def _row(state: CoverState, located: LocatedInstruction) -> CoveredInstruction:
    instruction = located.instruction
    answer = state.answer(instruction.id)
    return CoveredInstruction(
        id=instruction.id,
        kind=instruction.kind,
        place=instruction.place,
        text=instruction.text,
        file=located.location.path if located.location else None,
        line=located.location.line if located.location else None,
        answer=answer,
        noticed_by=tuple(_noticed(by, instruction.id) for by in state.held() if instruction.id in by.parts),
        untried=state.untried(instruction.id) if answer == "not tried" else (),
    )


def _noticed(by: HeldBy, own: str) -> NoticedBy:
    return NoticedBy(
        eval=by.eval,
        change=by.change,
        before_passed=by.before.passed,
        before_judged=by.before.judged,
        after_passed=by.after.passed,
        after_judged=by.after.judged,
        doubt=by.doubt,
        together=tuple(part for part in by.parts if part != own),
    )


def _eval(search: EvalSearch, run: CoverRun) -> CoveringEval:
    return CoveringEval(
        eval=search.eval.name,
        passed=search.eval.baseline.passed,
        judged=search.eval.baseline.judged,
        source="history" if run.past(search.eval.name) else "measured",
        notices_below=None if search.unusable else search.test.dropped,
        notices_above=None if search.unusable else search.test.risen,
        instructions=len(search.eval.parts),
        unusable=search.unusable,
    )


def _notes(run: CoverRun, state: CoverState, result: RunResult) -> list[str]:
    notes = [result.stopped] if result.stopped else []
    if run.out_of_trials and state.next():
        notes.append(f"stopped after {count(run.trials, 'trial')} (--max-trials)")
    if state.next():
        notes.append("run it again to continue: it reuses the trials so far")
    for search in state.searches:
        for group in search.found.diffuse:
            parts = count(len(group.parts), "instruction")
            notes.append(f"{search.eval.name}: {parts} change its rate only if all are removed; no few of them do")
    absent = sorted({part for lacking in run.absent.values() for part in lacking})
    if absent:
        notes.append(f"not sent in every trial, so not tried with some evals: {', '.join(absent)}")
    return notes
