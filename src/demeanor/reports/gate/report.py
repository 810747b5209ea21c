"""The report of a gate, as a value that all formats are rendered from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from demeanor.core.values.error_rates import ErrorRates
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import RunInfo
from demeanor.core.values.tally import Decision
from demeanor.decide.gate import CellRates, GateAnswer, GateSuite
from demeanor.decide.nights import Baseline
from demeanor.render import ReportDocument
from demeanor.reports.run import RunReport


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
    """`new` or `edited` if the change touches the eval itself, otherwise empty."""

    decision: Decision
    """The gate's decision."""

    passed: int
    """Trials of this change that passed."""

    failed: int
    """Trials of this change that failed."""

    voided: int
    """Void trials of this change."""

    past: Baseline | None
    """Its history: nights with the same version of the eval."""

    wanted: int
    """Trials that are still wanted."""

    rates: CellRates | None = None
    """The error rates of the cell's rule, for its own history; None for ALWAYS_PASSES and skipped cells."""

    suspected: bool = False
    """Whether it was accepted, but looks worse too after a second look, because another subject was rejected."""

    @property
    def judged(self) -> int:
        """Trials that passed or failed."""
        return self.passed + self.failed


@dataclass(frozen=True, kw_only=True, slots=True)
class GateReport:
    """May this change merge?"""

    run: RunInfo
    """The run that contains its trials."""

    thorough: bool
    """Whether its plans were thorough: more trials, and fewer missed drops."""

    base: str | None
    """The commit that evals were compared with, to find new and edited ones; None if there is none."""

    rows: tuple[GateRow, ...]
    """One per eval and subject."""

    characteristics: tuple[ErrorRates, ...]
    """The error rates of the rules that were used."""

    exit_code: ExitCode
    """The exit code that follows from all decisions."""

    suite: GateSuite | None = None
    """The error rates of all cells together; None if no cell can block a change."""

    notes: tuple[str, ...] = ()
    """Warnings and remarks."""

    empty: bool = False
    """Whether there was nothing to gate."""

    removed: Mapping[str, str] = field(default_factory=dict)
    """The evals that the change removes and that were not accepted, by name, each with its file, if known."""

    unjudged: Mapping[str, str] = field(default_factory=dict)
    """The cells, and evals with all their cells, that were judged before the change, and now are not, or by a weaker
    policy, and that were not accepted; by name, each with what happened to it."""

    unknown: tuple[str, ...] = ()
    """What the gate does not know: evals that can't be read here and, in CI, the base commit and the nights, each with
    the remedy. If anything, it is undecided."""

    def answered(self, answer: str) -> tuple[GateRow, ...]:
        """The rows with this answer."""
        return tuple(row for row in self.rows if row.decision.answer == answer)


GATE_DOCUMENT = ReportDocument("gate", GateReport)
"""The JSON document of this report."""


def gate_report(
    report: RunReport,
    answers: Iterable[GateAnswer],
    *,
    thorough: bool,
    base: str | None,
    edited: Mapping[str, str],
    characteristics: tuple[ErrorRates, ...],
    suite: GateSuite | None = None,
    notes: tuple[str, ...] = (),
    empty: bool = False,
    removed: Mapping[str, str] | None = None,
    unjudged: Mapping[str, str] | None = None,
    unknown: tuple[str, ...] = (),
) -> GateReport:
    """Make the report from the run and the gate's answers."""
    rows = tuple(
        GateRow(
            eval=answer.cell.eval,
            subject=answer.cell.subject,
            policy=answer.cell.policy,
            edit=edited.get(answer.cell.eval, ""),
            decision=answer.decision,
            passed=sum(answer.cell.outcomes),
            failed=len(answer.cell.outcomes) - sum(answer.cell.outcomes),
            voided=answer.cell.voided,
            past=answer.cell.past,
            rates=answer.rates,
            suspected=answer.suspected,
            wanted=answer.more,
        )
        for answer in answers
    )
    return GateReport(
        run=report.run,
        thorough=thorough,
        base=base,
        rows=rows,
        characteristics=characteristics,
        exit_code=report.exit_code,
        suite=suite,
        notes=notes,
        empty=empty,
        removed=removed or {},
        unjudged=unjudged or {},
        unknown=unknown,
    )
