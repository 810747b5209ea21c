"""A second judgement as a value: every format is made of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from demeanor.commands.run.tallies import tally
from demeanor.core.exit_code import ExitCode
from demeanor.core.record import Record
from demeanor.core.tally import Decision, Tally
from demeanor.core.trial import named_cell
from demeanor.core.verdict import Finding, Verdict
from demeanor.render.documents import Document


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerChange:
    """One check that is answered differently."""

    check: str
    """The check's name."""

    before: Finding | None
    """Its answer then; None where it was not asked."""

    after: Finding | None
    """Its answer now; None where it is asked no more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialAgain:
    """One trial, as it was judged then and as it is judged now."""

    run: str
    """The run it is of."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    number: int
    """The trial's number within its cell."""

    before: Verdict
    """How it was judged. Hostile text."""

    after: Verdict | None
    """How it is judged now; None where it can't be judged again. Hostile text."""

    changed: bool = False
    """Whether the outcome is another one."""

    changes: tuple[AnswerChange, ...] = ()
    """The checks that are answered differently."""

    refusal: str = ""
    """Why it can't be judged again, if so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CellAgain:
    """One eval on one subject: the trials that could be judged again, counted before and after."""

    run: str
    """The run it is of."""

    tally_before: Tally
    """The verdicts then."""

    tally_after: Tally
    """The verdicts now."""

    decision_before: Decision
    """What followed from them, by the policy of then."""

    decision_after: Decision
    """What follows now, by the policy of now."""

    refused: int = 0
    """Trials that can't be judged again, and are in neither tally."""

    @property
    def changed(self) -> bool:
        """Whether anything about it is another thing now."""
        return (
            self.decision_before.answer != self.decision_after.answer
            or self.tally_before.policy is not self.tally_after.policy
            or _counts(self.tally_before) != _counts(self.tally_after)
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Rejudgement:
    """What stored captures say today."""

    runs: tuple[str, ...]
    """The runs whose captures were judged, the oldest first."""

    demeanor: str
    """The version of Demeanor that judges now."""

    trials: tuple[TrialAgain, ...]
    """Every trial that was asked for, in the order of the runs and their plans."""

    cells: tuple[CellAgain, ...]
    """The trials, counted."""

    exit_code: ExitCode
    """What follows from the verdicts of now, as after a run."""

    notes: tuple[str, ...] = ()
    """What a person should know."""

    kept: tuple[str, ...] = ()
    """The folders that it was written to, if it was."""

    @property
    def changed(self) -> tuple[TrialAgain, ...]:
        """The trials whose outcome is another one."""
        return tuple(trial for trial in self.trials if trial.changed)

    @property
    def reworded(self) -> tuple[TrialAgain, ...]:
        """The trials whose outcome is the same, for other reasons."""
        return tuple(trial for trial in self.trials if trial.changes and not trial.changed)

    @property
    def refused(self) -> tuple[TrialAgain, ...]:
        """The trials that can't be judged again."""
        return tuple(trial for trial in self.trials if trial.after is None)

    @property
    def same(self) -> int:
        """How many trials are judged as they were, whatever the words."""
        return len(self.trials) - len(self.changed) - len(self.refused)


REJUDGE_DOCUMENT = Document("rejudge", Rejudgement)
"""The JSON document of this report."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RejudgedTrial:
    """One trial that was taken up again; what a rejudgement is made of."""

    run: str
    """The run it is of."""

    before: Record
    """The attempt that counts, as it was kept."""

    after: Record | None
    """The same attempt, judged now; None where it can't be."""

    refusal: str = ""
    """Why not, if so."""


def rejudgement(
    answered: Sequence[RejudgedTrial],
    *,
    demeanor: str,
    decide: Callable[[Tally], Decision],
    exit_code: Callable[[Iterable[Decision]], ExitCode],
    notes: tuple[str, ...] = (),
    kept: tuple[str, ...] = (),
) -> Rejudgement:
    """Everything that can be said of trials that were judged again."""
    by_cell: dict[tuple[str, str, str], list[RejudgedTrial]] = {}
    for one in answered:
        by_cell.setdefault((one.run, one.before.eval, one.before.subject), []).append(one)
    cells = []
    for (run, name, subject), own in by_cell.items():
        pairs = [(one.before, one.after) for one in own if one.after is not None]
        was, now = (pairs[-1][0].policy, pairs[-1][1].policy) if pairs else (own[-1].before.policy,) * 2
        before = tally(named_cell(name, subject, policy=was, trials=len(pairs)), [one for one, _ in pairs])
        after = tally(named_cell(name, subject, policy=now, trials=len(pairs)), [one for _, one in pairs])
        cells.append(
            CellAgain(
                run=run,
                tally_before=before,
                tally_after=after,
                decision_before=decide(before),
                decision_after=decide(after),
                refused=len(own) - len(pairs),
            )
        )
    return Rejudgement(
        runs=tuple(dict.fromkeys(one.run for one in answered)),
        demeanor=demeanor,
        trials=tuple(_trial(one) for one in answered),
        cells=tuple(cells),
        exit_code=exit_code(cell.decision_after for cell in cells),
        notes=notes,
        kept=kept,
    )


def answer_changes(before: Verdict, after: Verdict) -> tuple[AnswerChange, ...]:
    """The checks whose answers differ, or whose «no» has another reason; those of now first."""
    then = {finding.check: finding for finding in before.findings}
    now = {finding.check: finding for finding in after.findings}
    found = []
    for check in (*now, *(check for check in then if check not in now)):
        was, is_ = then.get(check), now.get(check)
        if was is None or is_ is None or (was.answer, _told(was)) != (is_.answer, _told(is_)):
            found.append(AnswerChange(check=check, before=was, after=is_))
    return tuple(found)


def _told(finding: Finding) -> str:
    return "" if finding.answer == "yes" else finding.reason


def _trial(one: RejudgedTrial) -> TrialAgain:
    before, after = one.before.verdict, one.after.verdict if one.after is not None else None
    return TrialAgain(
        run=one.run,
        eval=one.before.eval,
        subject=one.before.subject,
        number=one.before.number,
        before=before,
        after=after,
        changed=after is not None and after.outcome != before.outcome,
        changes=answer_changes(before, after) if after is not None else (),
        refusal=one.refusal,
    )


def _counts(tally: Tally) -> tuple[int, int, int]:
    return tally.passed, tally.failed, tally.voided
