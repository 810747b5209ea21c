"""Confirmation of rejections: a rejected cell is accepted after all if some fresh trials all pass.

With many cells, some healthy one is rejected by chance in most gates. Confirming costs trials only after a rejection.
"""

from __future__ import annotations

from dataclasses import replace

from demeanor.core.text.wording import all_of, count
from demeanor.decide.gate.always import ask_for, decide
from demeanor.decide.gate.cell import GateAnswer


def confirm_rejection(answer: GateAnswer, trials: int) -> GateAnswer:
    """The answer, if a rejection needs a failure among this many fresh trials; 0 for no confirmation."""
    if trials == 0 or answer.decision.answer != "reject" or answer.used is None:
        return answer
    cell, rule, reason = answer.cell, answer.decision.rule, answer.decision.reason
    fresh = cell.outcomes[answer.used : answer.used + trials]
    if False in fresh:
        return replace(answer, decision=replace(answer.decision, reason=f"{reason}; confirmed by a fresh trial"))
    if len(fresh) == trials:
        decision = decide(cell, rule, "accept", f"{reason}; not confirmed: {all_of(trials, 'fresh trial')} passed")
    else:
        waiting = f"{reason}; to be confirmed by {count(trials, 'fresh trial')}"
        decision = ask_for(cell, rule, trials - len(fresh), waiting)
    return replace(decision, rates=answer.rates)
