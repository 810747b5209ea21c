"""The report of a fix: what was tried, the result and the cost. Every output format is made from it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from demeanor.commands.fix.rules import Refusal
from demeanor.core.values.evidence import Spent
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.policy import Policy
from demeanor.core.values.tally import Decision, Estimate, Tally
from demeanor.render import ReportDocument


class FixOutcome(StrEnum):
    """The result of a fix, or of one round of it."""

    FIXED = "fixed"
    """The evals are accepted now, and no eval of the guard suite got worse."""

    PASSES = "passes"
    """There was nothing to fix: every trial passes without a change, so the fixer was not started."""

    NOT_FIXED = "not fixed"
    """An eval still fails with the change, or there was no usable change."""

    REGRESSED = "regressed"
    """The evals are accepted now, but an eval of the guard suite got worse."""

    REFUSED = "refused"
    """The change broke a rule, so it was not built or run."""

    UNDECIDED = "undecided"
    """No result: only void trials, a spent budget, or a fixer that could not be started."""


EXIT_CODES = {
    FixOutcome.FIXED: ExitCode.ACCEPTED,
    FixOutcome.PASSES: ExitCode.ACCEPTED,
    FixOutcome.NOT_FIXED: ExitCode.REJECTED,
    FixOutcome.REGRESSED: ExitCode.REJECTED,
    FixOutcome.REFUSED: ExitCode.REFUSED,
    FixOutcome.UNDECIDED: ExitCode.UNDECIDED,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """The trials of one eval with one subject, counted."""

    passed: int
    """Trials that passed."""

    judged: int
    """Trials that passed or failed."""

    voided: int
    """Trials that could not be judged."""

    rate: Estimate | None
    """The pass rate with its interval; None when no trial was judged."""

    answer: str
    """The decision of the rule: accept, reject, undecided or skipped."""

    reason: str
    """The reason for the decision, with the numbers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FixCell:
    """One eval with one subject, before and after the change."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    policy: Policy
    """The eval's policy."""

    before: Score | None
    """Without the change; None when not run. Guard evals run without the change only if they fail with it."""

    after: Score | None
    """With the change; None when not run."""

    p_value: float | None = None
    """The one-sided p-value (Boschloo) of the increase in the pass rate."""

    @property
    def worse(self) -> bool:
        """Whether it is rejected with the change and was not rejected without it."""
        before = self.before.answer if self.before else "accept"
        return self.after is not None and self.after.answer == "reject" and before != "reject"


@dataclass(frozen=True, kw_only=True, slots=True)
class WireTrial:
    """A change that was tried on the wire: the gateway made it in every request, before anything was built."""

    detail: str
    """The result in one sentence, or why it was not tried."""

    instructions: tuple[str, ...] = ()
    """The ids of the instructions that were changed, as `trace --prompt` lists them; empty if it was not tried."""

    cells: tuple[FixCell, ...] = ()
    """The failing evals without the change, and with it on the wire; empty if it was not tried."""

    dropped: bool = False
    """Whether the change was dropped: some eval still failed in every trial."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FixRound:
    """One attempt of the fixer."""

    number: int
    """1, 2, 3 …"""

    outcome: FixOutcome
    """The result."""

    detail: str
    """The reason, in one sentence. Hostile text."""

    files: tuple[str, ...] = ()
    """The changed files."""

    patch: str = ""
    """The change as a patch. Hostile text."""

    patch_file: str = ""
    """The file with the patch; empty when there is none."""

    root_cause: str = ""
    """The root cause according to the fixer. Hostile text."""

    refusals: tuple[Refusal, ...] = ()
    """The rules that the change breaks."""

    wire: WireTrial | None = None
    """The change on the wire, before it was built; None if there was no usable change, or `wire_trials` is 0."""

    cells: tuple[FixCell, ...] = ()
    """The evals to fix, before and after."""

    guard: tuple[FixCell, ...] = ()
    """The guard suite; empty when it was not run."""

    fixer: Spent | None = None
    """What the fixer used."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FixReport:
    """The report of a fix."""

    id: str
    """The name of the fix, which is also the name of its folder."""

    outcome: FixOutcome
    """The result: that of the last round, or of the run without a change."""

    exit_code: ExitCode
    """The exit code that follows from the outcome."""

    evals: tuple[str, ...]
    """The names of the evals to fix."""

    run: str
    """The run in which they failed."""

    commit: str
    """The commit to fix."""

    fixer: str
    """The fixer, as `agent:model`."""

    rule: str
    """The rule that decided before and after."""

    before: tuple[FixCell, ...]
    """The evals without any change."""

    rounds: tuple[FixRound, ...]
    """The rounds of the fixer."""

    spent: Spent
    """The total usage of fixer and trials."""

    unpriced: int
    """Attempts without a known cost. If there are any, `spent.cost_usd` is a lower bound."""

    folder: str
    """The folder of the fix."""

    applied: bool = False
    """Whether the patch was applied to the user's tree."""

    notes: tuple[str, ...] = ()
    """Notes for the reader."""

    @property
    def best(self) -> FixRound | None:
        """The last round that fixed it, or else the last round."""
        fixed = [round_ for round_ in self.rounds if round_.outcome is FixOutcome.FIXED]
        return next(reversed(fixed or self.rounds), None)


FIX_DOCUMENT = ReportDocument("fix", FixReport)
"""The JSON document of this report."""


def score_of(tally: Tally, decision: Decision) -> Score:
    """Combine a tally and its decision."""
    return Score(
        passed=tally.passed,
        judged=tally.judged,
        voided=tally.voided,
        rate=tally.rate,
        answer=decision.answer,
        reason=decision.reason,
    )
