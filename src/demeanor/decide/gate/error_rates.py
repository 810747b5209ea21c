"""The error rates of the rules that a gate applied, for the cells it applied them to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from demeanor.core.error_rates import ErrorRates
from demeanor.core.percent import rate as percent
from demeanor.core.policy import Policy
from demeanor.core.text import count, one_line
from demeanor.decide.gate import always, optimal
from demeanor.decide.gate.cell import GateAnswer
from demeanor.decide.gate.confirmation import confirmed
from demeanor.decide.gate.effort import LARGE_DROP, SMALL_DROP, Effort
from demeanor.decide.gate.frontier import expected_rate
from demeanor.decide.gate.rules import GateRule, rule_named
from demeanor.decide.gate.suite import ADVISED, CellOdds, GateSuite, always_odds, suite_rates

_MAX_GROUPS, _MAX_NAMED = 4, 3
_ALWAYS_RATE, _PSEUDO_TRIALS = 0.99, 20


def applied_rates(
    answers: Sequence[GateAnswer], *, rule: str, effort: Effort, confirm: int = 0
) -> tuple[ErrorRates, ...]:
    """The error rates for the cells' own histories: one entry per rule and group of cells with the same history."""
    policies = {one.cell.policy for one in answers}
    found = [_confirmed(always.error_rates(), confirm)] if Policy.ALWAYS_PASSES in policies else []
    if Policy.USUALLY_PASSES not in policies:
        return tuple(found)
    if rule != optimal.NAME:
        return (*found, *_own_histories(answers, rule_named(rule)))
    return (*found, *(_confirmed(one, confirm) for one in _plans(answers, effort)))


def _confirmed(found: ErrorRates, confirm: int) -> ErrorRates:
    if not confirm:
        return found
    about = f"{found.about}; a rejection is confirmed by a failure among {count(confirm, 'fresh trial')}"
    return replace(found, about=about, rows=tuple(confirmed(row, confirm) for row in found.rows))


def gate_suite(answers: Sequence[GateAnswer], *, rule: str, confirm: int) -> GateSuite | None:
    """The error rates of all cells together, at the rates of their histories; None for other rules than `optimal`."""
    odds = [always_odds(_always_rate(one)) for one in answers if one.decision.rule == always.NAME]
    odds += [CellOdds.of(one.rates) for one in answers if one.rates is not None]
    if rule != optimal.NAME or not odds:
        return None
    return GateSuite(
        now=suite_rates(odds, confirm=confirm),
        proposed=None if confirm else suite_rates(odds, confirm=ADVISED),
    )


def _always_rate(answer: GateAnswer) -> float:
    """The rate that the history of an ALWAYS_PASSES cell shows, shrunk towards 99 %."""
    past = answer.cell.past
    passed, judged = (past.passed, past.judged) if past else (0, 0)
    return (passed + _ALWAYS_RATE * _PSEUDO_TRIALS) / (judged + _PSEUDO_TRIALS)


def _own_histories(answers: Sequence[GateAnswer], rule: GateRule) -> list[ErrorRates]:
    """The error rates of a rule that makes no plans, for the histories of the cells; the most frequent ones first."""
    tried = [one.cell for one in answers if one.decision.rule == rule.name]
    groups = Counter((expected_rate(one.past.passed, one.past.failed), one.past.judged) for one in tried if one.past)
    found = []
    for (healthy, judged), cells in groups.most_common(_MAX_GROUPS):
        rates = [round(healthy * left, 2) for left in (1.0, SMALL_DROP, LARGE_DROP)]
        one = rule.error_rates(rates, base=healthy, past=judged)
        setting = (
            f"{count(cells, 'cell')} with {count(judged, 'trial')} of history, expected to pass {percent(healthy)}"
        )
        found.append(replace(one, setting=setting))
    return found or [rule.error_rates()]


def _plans(answers: Sequence[GateAnswer], effort: Effort) -> list[ErrorRates]:
    """The error rates of the cells' own plans; the most frequent plans first."""
    groups = Counter(one.rates for one in answers if one.rates is not None)
    left_out = sum(cells for _, cells in groups.most_common()[_MAX_GROUPS:])
    more = (f"{count(left_out, 'cell')} with other plans: see `rates` in gate.json",) if left_out else ()
    return [
        ErrorRates(
            rule=f"{optimal.NAME} {effort.name}",
            action="reject",
            about=optimal.about(effort),
            setting=f"{count(cells, 'cell')} that {'is' if cells == 1 else 'are'} expected to pass "
            f"{percent(rates.healthy.rate)} of the time",
            rows=(rates.healthy, rates.small_drop, rates.large_drop),
            notes=more,
        )
        for rates, cells in groups.most_common(_MAX_GROUPS)
    ]


def unrejectable_notes(answers: Sequence[GateAnswer]) -> list[str]:
    """A note about accepted cells whose plan has no rejection, because too few of their nights' trials passed."""
    names = [
        f"{one_line(answer.cell.eval, width=60)} · {answer.cell.subject} ({past.passed} of {past.judged})"
        for answer in answers
        if answer.decision.answer == "accept" and (past := answer.cell.past) is not None
        if answer.rates is not None and answer.rates.large_drop.chance == 0
    ]
    if not names:
        return []
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    remedy = "repair or demote to USUALLY_FAILS, or use --effort thorough"
    listed = ", ".join(names[:_MAX_NAMED])
    return [f"can't be rejected by this gate, since too few trials passed at night: {listed}{more}; {remedy}"]
