"""The report of `demeanor rejudge`: old and new verdicts compared. Every output format is made from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from demeanor._version import __version__
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.judge_question import JudgeAnswer
from demeanor.core.values.record import Record
from demeanor.core.values.tally import Decision, Tally
from demeanor.core.values.trial import named_cell
from demeanor.core.values.verdict import Finding, Verdict
from demeanor.decide import decide, exit_code
from demeanor.render import ReportDocument
from demeanor.results import tally


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerChange:
    """A check with a different answer."""

    check: str
    """The check's name."""

    before: Finding | None
    """The old answer; None when the check was not asked."""

    after: Finding | None
    """The new answer; None when the check is no longer asked."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialComparison:
    """One trial with its old and new verdict."""

    run: str
    """The name of its run."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    number: int
    """The trial's number within its cell."""

    before: Verdict
    """The old verdict. Hostile text."""

    after: Verdict | None
    """The new verdict; None when it can't be judged again. Hostile text."""

    changed: bool = False
    """Whether the outcome changed."""

    changes: tuple[AnswerChange, ...] = ()
    """The checks with different answers."""

    refusal: str = ""
    """Why it can't be judged again; empty when it can."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CellComparison:
    """One eval with one subject: the trials that were judged again, counted before and after."""

    run: str
    """The name of its run."""

    tally_before: Tally
    """The old verdicts, counted."""

    tally_after: Tally
    """The new verdicts, counted."""

    decision_before: Decision
    """The old decision, by the old policy."""

    decision_after: Decision
    """The new decision, by the current policy."""

    refused: int = 0
    """Trials that can't be judged again; they are in neither tally."""

    @property
    def changed(self) -> bool:
        """Whether the decision, the policy or the counts changed."""
        return (
            self.decision_before.answer != self.decision_after.answer
            or self.tally_before.policy is not self.tally_after.policy
            or _counts(self.tally_before) != _counts(self.tally_after)
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Rejudgement:
    """The result of judging stored captures again."""

    runs: tuple[str, ...]
    """The runs whose captures were judged, the oldest first."""

    demeanor: str
    """The version of Demeanor that judged again."""

    trials: tuple[TrialComparison, ...]
    """Every requested trial, in the order of the runs and their plans."""

    cells: tuple[CellComparison, ...]
    """The trials, counted per eval and subject."""

    exit_code: ExitCode
    """The exit code that a run with the new verdicts would have."""

    notes: tuple[str, ...] = ()
    """Notes for the reader."""

    kept: tuple[str, ...] = ()
    """The folders with the stored verdicts; empty without --keep."""

    asked: int = 0
    """The number of questions that judges were asked; other questions were answered from records."""

    @property
    def changed(self) -> tuple[TrialComparison, ...]:
        """The trials whose outcome changed."""
        return tuple(trial for trial in self.trials if trial.changed)

    @property
    def reworded(self) -> tuple[TrialComparison, ...]:
        """The trials with the same outcome for other reasons."""
        return tuple(trial for trial in self.trials if trial.changes and not trial.changed)

    @property
    def refused(self) -> tuple[TrialComparison, ...]:
        """The trials that can't be judged again."""
        return tuple(trial for trial in self.trials if trial.after is None)

    @property
    def same(self) -> int:
        """How many trials have the same outcome."""
        return len(self.trials) - len(self.changed) - len(self.refused)


REJUDGE_DOCUMENT = ReportDocument("rejudge", Rejudgement)
"""The JSON document of this report."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RejudgedTrial:
    """One trial that was judged again, with its old and new record."""

    run: str
    """The name of its run."""

    before: Record
    """The attempt that counts, as stored."""

    after: Record | None
    """The same attempt, judged again; None when that is not possible."""

    refusal: str = ""
    """Why it is not possible; empty when it is."""

    asked: tuple[JudgeAnswer, ...] = ()
    """The answers of judges that were asked for it."""


def rejudgement(
    trials: Sequence[RejudgedTrial],
    *,
    demeanor: str = __version__,
    notes: tuple[str, ...] = (),
    kept: tuple[str, ...] = (),
) -> Rejudgement:
    """Compare the old and new verdicts of trials that were judged again."""
    by_cell: dict[tuple[str, str, str], list[RejudgedTrial]] = {}
    for trial in trials:
        by_cell.setdefault((trial.run, trial.before.eval, trial.before.subject), []).append(trial)
    cells = []
    for (run, name, subject), own in by_cell.items():
        pairs = [(trial.before, trial.after) for trial in own if trial.after is not None]
        was, now = (pairs[-1][0].policy, pairs[-1][1].policy) if pairs else (own[-1].before.policy,) * 2
        before = tally(named_cell(name, subject, policy=was, trials=len(pairs)), [record for record, _ in pairs])
        after = tally(named_cell(name, subject, policy=now, trials=len(pairs)), [record for _, record in pairs])
        cells.append(
            CellComparison(
                run=run,
                tally_before=before,
                tally_after=after,
                decision_before=decide(before),
                decision_after=decide(after),
                refused=len(own) - len(pairs),
            )
        )
    return Rejudgement(
        runs=tuple(dict.fromkeys(trial.run for trial in trials)),
        demeanor=demeanor,
        trials=tuple(_trial(trial) for trial in trials),
        cells=tuple(cells),
        exit_code=exit_code(cell.decision_after for cell in cells),
        notes=notes,
        asked=sum(len(trial.asked) for trial in trials),
        kept=kept,
    )


def answer_changes(before: Verdict, after: Verdict) -> tuple[AnswerChange, ...]:
    """Return the checks whose answers or reasons differ, current checks first. The reason of a "yes" does not count."""
    old = {finding.check: finding for finding in before.findings}
    new = {finding.check: finding for finding in after.findings}
    changes = []
    for check in (*new, *(check for check in old if check not in new)):
        was, now = old.get(check), new.get(check)
        if was is None or now is None or (was.answer, _reason(was)) != (now.answer, _reason(now)):
            changes.append(AnswerChange(check=check, before=was, after=now))
    return tuple(changes)


def _reason(finding: Finding) -> str:
    return "" if finding.answer == "yes" else finding.reason


def _trial(trial: RejudgedTrial) -> TrialComparison:
    before, after = trial.before.verdict, trial.after.verdict if trial.after is not None else None
    return TrialComparison(
        run=trial.run,
        eval=trial.before.eval,
        subject=trial.before.subject,
        number=trial.before.number,
        before=before,
        after=after,
        changed=after is not None and after.outcome != before.outcome,
        changes=answer_changes(before, after) if after is not None else (),
        refusal=trial.refusal,
    )


def _counts(tally: Tally) -> tuple[int, int, int]:
    return tally.passed, tally.failed, tally.voided
