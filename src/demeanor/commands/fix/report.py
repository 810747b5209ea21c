"""A fix as a value: what was tried, what came of it, and what it cost. Every format is made of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from demeanor.commands.fix.violations import Refusal
from demeanor.core.evidence import Spent
from demeanor.core.exit_code import ExitCode
from demeanor.core.policy import Policy
from demeanor.core.tally import Decision, Estimate, Tally
from demeanor.render.documents import Document


class FixOutcome(StrEnum):
    """What came of a fix, or of one round of it."""

    FIXED = "fixed"
    """The evals are accepted now, and nothing of the guard suite got worse."""

    PASSES = "passes"
    """There was nothing to fix: the evals are accepted as things are, so the fixer was not asked."""

    NOT_FIXED = "not fixed"
    """The change was tried, and an eval is still rejected; or there was no change that could be tried."""

    REGRESSED = "regressed"
    """The evals are accepted now, but something of the guard suite got worse."""

    REFUSED = "refused"
    """The change broke a rule, so it was not tried."""

    UNDECIDED = "undecided"
    """Nothing can be said: only voids, a spent budget, or a fixer that could not be started."""


CODES = {
    FixOutcome.FIXED: ExitCode.ACCEPTED,
    FixOutcome.PASSES: ExitCode.ACCEPTED,
    FixOutcome.NOT_FIXED: ExitCode.REJECTED,
    FixOutcome.REGRESSED: ExitCode.REJECTED,
    FixOutcome.REFUSED: ExitCode.REFUSED,
    FixOutcome.UNDECIDED: ExitCode.UNDECIDED,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """Trials of one eval with one subject, counted."""

    passed: int
    """Trials that passed."""

    judged: int
    """Trials that count."""

    voided: int
    """Trials that could not be judged."""

    rate: Estimate | None
    """The pass rate with its interval; None where nothing was judged."""

    answer: str
    """Held against the rule: accept, reject, undecided or skipped."""

    reason: str
    """Why, in a sentence with the numbers."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FixCell:
    """One eval with one subject, before and after."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    policy: Policy
    """The eval's policy."""

    before: Score | None
    """Without the change; None where that was not tried: of the guard, only what fails is."""

    after: Score | None
    """With the change; None where it was not tried."""

    p_value: float | None = None
    """How easily chance alone explains that it passes more often now (Boschloo, one-sided)."""

    @property
    def worse(self) -> bool:
        """Whether it is rejected, and was not without the change."""
        before = self.before.answer if self.before else "accept"
        return self.after is not None and self.after.answer == "reject" and before != "reject"


@dataclass(frozen=True, kw_only=True, slots=True)
class FixRound:
    """One go of the fixer."""

    number: int
    """1, 2, 3 …"""

    outcome: FixOutcome
    """What came of it."""

    detail: str
    """Why, in a sentence. Hostile text."""

    files: tuple[str, ...] = ()
    """What was changed."""

    patch: str = ""
    """The change as a patch. Hostile text."""

    patch_file: str = ""
    """Where it is kept; empty where there is none."""

    root_cause: str = ""
    """What the fixer says was the cause. Hostile text."""

    refusals: tuple[Refusal, ...] = ()
    """The rules that the change breaks."""

    cells: tuple[FixCell, ...] = ()
    """The evals that are to be mended for, before and after."""

    guard: tuple[FixCell, ...] = ()
    """The guard suite; empty where it did not come to that."""

    fixer: Spent | None = None
    """What the fixer used."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FixReport:
    """What was tried to mend some evals, and what came of it."""

    id: str
    """The fix's name, which is also its folder's."""

    outcome: FixOutcome
    """What came of the last round; of several, the best counts."""

    exit_code: ExitCode
    """Accepted where it is fixed, rejected where it is not, refused where the fixer broke a rule."""

    evals: tuple[str, ...]
    """The evals that were to be mended for."""

    run: str
    """The run in which they failed."""

    commit: str
    """The commit that was to be mended."""

    fixer: str
    """Who mended, as `agent:model`."""

    rule: str
    """The rule by which evals were judged before and after."""

    before: tuple[FixCell, ...]
    """The evals as they are without any change."""

    rounds: tuple[FixRound, ...]
    """What the fixer tried."""

    spent: Spent
    """What all of it used: fixer and trials."""

    unpriced: int
    """Attempts whose cost nobody knows: where some is known, `spent.cost_usd` is a lower bound."""

    folder: str
    """Where all of it is kept."""

    applied: bool = False
    """Whether the patch was laid onto the user's tree."""

    notes: tuple[str, ...] = ()
    """What a person should know."""

    @property
    def best(self) -> FixRound | None:
        """The round that fixed it; else the last one."""
        fixed = [one for one in self.rounds if one.outcome is FixOutcome.FIXED]
        return next(reversed(fixed or self.rounds), None)


FIX_DOCUMENT = Document("fix", FixReport)
"""The JSON document of this report."""


def score_of(tally: Tally, decision: Decision) -> Score:
    """A tally that was held against a rule."""
    return Score(
        passed=tally.passed,
        judged=tally.judged,
        voided=tally.voided,
        rate=tally.rate,
        answer=decision.answer,
        reason=decision.reason,
    )
