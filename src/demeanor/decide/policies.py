"""Tally → decision, by one named rule per policy; and the exit code of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from demeanor.core.text.wording import all_of, count
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.policy import Policy
from demeanor.core.values.tally import Decision, Tally

if TYPE_CHECKING:
    from demeanor.config import Config


def empty_exit_code(config: Config, environ: Mapping[str, str]) -> ExitCode:
    """The exit code if there was nothing to decide: `[gate] empty`, default: undecided in CI, else accepted."""
    empty = config.gate.empty or ("undecided" if environ.get("CI") else "pass")
    return ExitCode.ACCEPTED if empty == "pass" else ExitCode.UNDECIDED


Rule: TypeAlias = Callable[[Tally], Decision]
"""Decides a tally with at least one judged trial."""

NAMES: Mapping[Policy, str] = {
    Policy.ALWAYS_PASSES: "every_trial",
    Policy.USUALLY_PASSES: "two_of_three",
    Policy.USUALLY_FAILS: "known_bad",
}
"""The rule of each policy."""


def decide(tally: Tally) -> Decision:
    """Decide a tally by its policy. Voids and trials that did not run are not evidence: with too little evidence, and
    unless the outcome is certain anyway, the answer is undecided."""
    rule = NAMES[tally.policy]
    if tally.skipped is not None:
        return Decision(answer="skipped", rule=rule, reason=f"nothing was tried: {tally.skipped}")
    if tally.judged == 0:
        return Decision(answer="undecided", rule=rule, reason=_why_undecided(tally))
    needed = needed_trials(tally)
    if tally.judged < needed and not _certainly_rejected(tally):
        reason = f"{_score(tally)}, but at least {needed} of {tally.planned} planned trials must be judged"
        return Decision(answer="undecided", rule=rule, reason=reason)
    return _despite_voids(tally, RULES[rule])


def _despite_voids(tally: Tally, rule: Rule) -> Decision:
    """The decision, accepted only if it would be with every void trial that the agent may have brought about counted as
    a fail: otherwise an agent could keep its failures out of the rate."""
    decision = rule(tally)
    worst = replace(tally, failed=tally.failed + tally.doubtful, voided=tally.voided - tally.doubtful)
    if decision.answer != "accept" or not tally.doubtful or rule(worst).answer == "accept":
        return decision
    return replace(
        decision, answer="undecided", news=False, reason=f"{decision.reason}, but {too_many_voids(tally.doubtful)}"
    )


def too_many_voids(voids: int) -> str:
    """Why a cell with void trials that the agent may have brought about is undecided."""
    what = f"{count(voids, 'void trial')} may be the agent's doing"
    return f"{what}, and would be too many failures"


def needed_trials(tally: Tally) -> int:
    """How many of the planned trials must be judged: as configured, or else all of them for ALWAYS_PASSES, and two
    thirds for other policies."""
    if tally.needed is not None:
        return min(tally.needed, tally.planned)
    if tally.policy is Policy.ALWAYS_PASSES:
        return tally.planned
    return -(-tally.planned * 2 // 3)


def _certainly_rejected(tally: Tally) -> bool:
    """Whether the eval would be rejected even if every trial that was not judged had passed."""
    best = replace(tally, passed=tally.planned - tally.failed, voided=0, missing=0)
    return RULES[NAMES[tally.policy]](best).answer == "reject"


def exit_code(decisions: Iterable[Decision]) -> ExitCode:
    """The exit code of a run: rejected by one reject, else undecided by one undecided cell or if all were skipped."""
    answers = {decision.answer for decision in decisions}
    if "reject" in answers:
        return ExitCode.REJECTED
    if "undecided" in answers or "accept" not in answers:
        return ExitCode.UNDECIDED
    return ExitCode.ACCEPTED


def every_trial(tally: Tally) -> Decision:
    """Accept if every judged trial passed."""
    if tally.failed == 0:
        return Decision(answer="accept", rule="every_trial", reason=f"{_score(tally)}, as required")
    reason = f"{_score(tally)}, but it must always pass"
    return Decision(answer="reject", rule="every_trial", reason=reason)


def two_of_three(tally: Tally) -> Decision:
    """Accept if at least two thirds of the judged trials passed."""
    if _mostly_passes(tally):
        reason = f"{_score(tally)}, at least two of three"
        return Decision(answer="accept", rule="two_of_three", reason=reason)
    return Decision(answer="reject", rule="two_of_three", reason=f"{_score(tally)}, fewer than two of three")


def known_bad(tally: Tally) -> Decision:
    """Always accept; it is news if at least two thirds of the judged trials passed."""
    if _mostly_passes(tally):
        reason = f"{_score(tally)}, though it was known to fail: consider USUALLY_PASSES"
        return Decision(answer="accept", rule="known_bad", reason=reason, news=True)
    return Decision(answer="accept", rule="known_bad", reason=f"{_score(tally)}: {EXPECTED}")


EXPECTED = "it is USUALLY_FAILS, so failing is expected and accepted"
"""Why an expected failure is fine."""

RULES: Mapping[str, Rule] = {"every_trial": every_trial, "two_of_three": two_of_three, "known_bad": known_bad}
"""The rules by name."""


def _mostly_passes(tally: Tally) -> bool:
    return tally.passed * 3 >= tally.judged * 2


def _score(tally: Tally) -> str:
    voids = f" ({tally.voided} void)" if tally.voided else ""
    return f"{tally.passed} of {tally.judged} passed{voids}"


def _why_undecided(tally: Tally) -> str:
    if tally.voided == 0:
        return "no trial was run"
    return f"{all_of(tally.voided, 'trial')} {'is' if tally.voided == 1 else 'are'} void, so there is no verdict"
