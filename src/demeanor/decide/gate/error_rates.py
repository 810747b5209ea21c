"""The error rates of the rules that a gate applied, for the cells it applied them to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from demeanor.core.text.percent import rate as percent
from demeanor.core.text.wording import count, one_line
from demeanor.core.values.error_rates import ErrorRates
from demeanor.core.values.policy import Policy
from demeanor.decide.gate import always, check_in, optimal
from demeanor.decide.gate.cell import GateAnswer
from demeanor.decide.gate.confirmation import confirmed
from demeanor.decide.gate.effort import Effort
from demeanor.decide.gate.suite import ADVISED, CellOdds, GateSuite, always_odds, suite_rates

_MAX_GROUPS, _MAX_NAMED = 4, 3
_ALWAYS_RATE, _PSEUDO_TRIALS = 0.99, 20


def applied_rates(answers: Sequence[GateAnswer], *, effort: Effort, confirm: int = 0) -> tuple[ErrorRates, ...]:
    """The error rates for the cells' own histories: one entry per rule and group of cells with the same plan."""
    found = [always.error_rates()] if any(one.cell.policy is Policy.ALWAYS_PASSES for one in answers) else []
    found += _plans(answers, effort)
    if any(one.decision.rule == check_in.NAME for one in answers):
        found.append(check_in.error_rates())
    return tuple(_confirmed(one, confirm) for one in found)


def _confirmed(found: ErrorRates, confirm: int) -> ErrorRates:
    if not confirm:
        return found
    about = f"{found.about}; a rejection is confirmed by a failure among {count(confirm, 'fresh trial')}"
    return replace(found, about=about, rows=tuple(confirmed(row, confirm) for row in found.rows))


def gate_suite(answers: Sequence[GateAnswer], *, confirm: int) -> GateSuite | None:
    """The error rates of all cells together, at the rates of their histories; None if no cell can block a change."""
    odds = [always_odds(_always_rate(one)) for one in answers if one.decision.rule == always.NAME]
    odds += [CellOdds.of(one.rates) for one in answers if one.rates is not None]
    if not odds:
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


def _plans(answers: Sequence[GateAnswer], effort: Effort) -> list[ErrorRates]:
    """The error rates of the cells' own plans; the most frequent plans first."""
    groups = Counter(one.rates for one in answers if one.rates is not None and one.decision.rule == optimal.NAME)
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
    remedy = "repair or demote to USUALLY_FAILS, or use --thorough"
    listed = ", ".join(names[:_MAX_NAMED])
    return [f"can't be rejected by this gate, since too few trials passed at night: {listed}{more}; {remedy}"]
