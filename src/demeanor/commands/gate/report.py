"""What a gate said, as a value: every format is made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from demeanor.commands.gate.cell import GateAnswer
from demeanor.commands.run.report import RunReport
from demeanor.core.error_rates import ErrorRates
from demeanor.core.exit_code import ExitCode
from demeanor.core.policy import Policy
from demeanor.core.record import RunInfo
from demeanor.core.tally import Decision
from demeanor.runner.baselines import Baseline


@dataclass(frozen=True, kw_only=True, slots=True)
class GateRow:
    """One eval with one subject."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    policy: Policy
    """The eval's policy."""

    edit: str
    """`new` or `edited` where the change touches the eval itself; empty where it does not."""

    decision: Decision
    """What the gate says."""

    passed: int
    """Trials of this change that passed."""

    failed: int
    """Trials of this change that failed."""

    voided: int
    """Trials of this change that could not be judged."""

    past: Baseline | None
    """Its nights, if any are of the eval as it is now."""

    p_value: float | None
    """How surprising the fresh trials are after these nights; None where that was not asked."""

    adjusted: float | None
    """The same, raised for the number of cells that were asked."""

    wanted: int
    """Trials that it would still have taken."""

    @property
    def judged(self) -> int:
        """How many trials count."""
        return self.passed + self.failed


@dataclass(frozen=True, kw_only=True, slots=True)
class GateReport:
    """May this change merge?"""

    run: RunInfo
    """The run that its trials are kept in."""

    rule: str
    """How USUALLY_PASSES was judged."""

    base: str | None
    """The commit that new and edited evals were told by; None where there is none."""

    rows: tuple[GateRow, ...]
    """One per eval and subject."""

    characteristics: tuple[ErrorRates, ...]
    """The error rates of the rules that were applied."""

    exit_code: ExitCode
    """What follows from all decisions."""

    notes: tuple[str, ...] = ()
    """What a person should know."""

    def answered(self, answer: str) -> tuple[GateRow, ...]:
        """The rows with this answer."""
        return tuple(row for row in self.rows if row.decision.answer == answer)


def gate_report(
    report: RunReport,
    answers: Iterable[GateAnswer],
    *,
    rule: str,
    base: str | None,
    edited: Mapping[str, str],
    characteristics: tuple[ErrorRates, ...],
    notes: tuple[str, ...] = (),
) -> GateReport:
    """Everything that can be said of a gate."""
    rows = tuple(
        GateRow(
            eval=one.cell.eval,
            subject=one.cell.subject,
            policy=one.cell.policy,
            edit=edited.get(one.cell.eval, ""),
            decision=one.decision,
            passed=sum(one.cell.outcomes),
            failed=len(one.cell.outcomes) - sum(one.cell.outcomes),
            voided=one.cell.voided,
            past=one.cell.past,
            p_value=one.p_value,
            adjusted=one.adjusted,
            wanted=one.more,
        )
        for one in answers
    )
    return GateReport(
        run=report.run,
        rule=rule,
        base=base,
        rows=rows,
        characteristics=characteristics,
        exit_code=report.exit_code,
        notes=notes,
    )
