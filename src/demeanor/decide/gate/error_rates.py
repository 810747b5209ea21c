"""The error rates of the rules that a gate applied, for the cells it applied them to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import fsum

from demeanor.core.text.percent import rate as percent
from demeanor.core.text.wording import count, one_line
from demeanor.core.values.error_rates import ErrorRates, Operating
from demeanor.core.values.policy import Policy
from demeanor.decide.gate import always, check_in, optimal
from demeanor.decide.gate.cell import GateAnswer, GateCell
from demeanor.decide.gate.effort import LARGE_DROP, SMALL_DROP, STANDARD, Effort
from demeanor.decide.gate.frontier import EXPECTED, cell_rates, operating, plan_after
from demeanor.decide.gate.suite import ADVISED, CellOdds, GateSuite, SuiteRates, suite_rates
from demeanor.statistics import Prior, combined, effective, fit_prior, jeffreys

_MAX_GROUPS, _MAX_NAMED = 4, 3
_LEVEL, _RAREST = 0.9, 1e-6
_ALWAYS_RATE, _PSEUDO_TRIALS = 0.99, 20
"""What is expected of cells while nothing is known."""


def applied_rates(
    answers: Sequence[GateAnswer], *, effort: Effort, confirm: int = 0, correlation: float = 0.0
) -> tuple[ErrorRates, ...]:
    """The error rates for the cells' own histories: one entry per rule and group of cells with the same plan."""
    rates = []
    if any(answer.cell.policy is Policy.ALWAYS_PASSES for answer in answers):
        rates.append(always.error_rates(correlation=correlation, confirm=confirm))
    rates += _plans(answers, effort, confirm, correlation)
    if any(answer.decision.rule == check_in.NAME for answer in answers):
        rates.append(check_in.error_rates(correlation=correlation, confirm=confirm))
    return tuple(_stated(rates_of_cell, confirm, correlation) for rates_of_cell in rates)


def _stated(rates: ErrorRates, confirm: int, correlation: float) -> ErrorRates:
    """With what was assumed."""
    about, setting = rates.about, f"{rates.setting}, {assumption(correlation)}"
    if confirm:
        about = f"{about}; a rejection is confirmed by a failure among {count(confirm, 'fresh trial')}"
    return replace(rates, about=about, setting=setting)


def assumption(correlation: float) -> str:
    """What the error rates assume of the trials."""
    if not correlation:
        return "whose trials are independent"
    return f"whose trials have a correlation of {correlation:.2f}, as those of a night"


def gate_suite(
    answers: Sequence[GateAnswer], *, confirm: int, effort: Effort = STANDARD, correlation: float = 0.0
) -> GateSuite | None:
    """The error rates of all cells together, at the rates that their nights show; None if no cell can block a change.

    The rate of a cell is known only as a distribution: a prior that is fitted to all cells of its policy, and updated
    by the cell's own nights.
    """
    rules = (always.NAME, check_in.NAME, optimal.NAME)
    judged = [answer for answer in answers if answer.decision.rule in rules]
    if not judged:
        return None
    beliefs = _beliefs(judged, correlation)

    def rates(end: int, confirm: int) -> SuiteRates:
        pairs = zip(judged, beliefs, strict=True)
        cells = [_odds(answer, belief[end], effort, confirm, correlation) for answer, belief in pairs]
        return suite_rates(cells, confirm=confirm)

    def with_ends(confirm: int) -> SuiteRates:
        return replace(rates(1, confirm), least=rates(0, confirm).blocks, most=rates(2, confirm).blocks)

    return GateSuite(now=with_ends(confirm), proposed=None if confirm else with_ends(ADVISED))


def _beliefs(answers: Sequence[GateAnswer], correlation: float) -> list[tuple[Prior, Prior, Prior]]:
    """What is known of the rate of each cell; between the same if the suite fails as rarely, or as often, as its trials
    leave open."""
    alike: dict[Policy, list[GateCell]] = {}
    for answer in answers:
        alike.setdefault(answer.cell.policy, []).append(answer.cell)
    priors = {policy: _prior(cells, correlation) for policy, cells in alike.items()}
    beliefs = []
    for answer in answers:
        prior, (fewer, more) = priors[answer.cell.policy]
        belief = prior.after(*optimal.history(answer.cell, correlation))
        beliefs.append((_scaled(belief, fewer), belief, _scaled(belief, more)))
    return beliefs


def _prior(cells: Sequence[GateCell], correlation: float) -> tuple[Prior, tuple[float, float]]:
    """The prior of cells of one policy, and the shares of its failures that its trials leave open.

    It is fitted to the nights. While no cell has two, the trials of this change are all that is known.
    """
    counts = [optimal.history(cell, correlation) for cell in cells]
    if all(cell.past is None or cell.past.nights < 2 for cell in cells):
        counts = [_with_own(cell, *pair, correlation) for cell, pair in zip(cells, counts, strict=True)]
    pairs = [(passed, passed + failed) for passed, failed in counts if passed + failed]
    if pairs:
        prior = fit_prior(pairs)
        return prior, _fails_open(pairs, prior)
    rate = _ALWAYS_RATE if cells[0].policy is Policy.ALWAYS_PASSES else EXPECTED
    return Prior(rate * _PSEUDO_TRIALS, (1 - rate) * _PSEUDO_TRIALS), (0.0, 1 / (1 - rate))


def _with_own(cell: GateCell, passed: float, failed: float, correlation: float) -> tuple[float, float]:
    """The counts with the trials of this change."""
    own, worth = sum(cell.outcomes), effective(len(cell.outcomes), correlation)
    return passed + own * worth, failed + (len(cell.outcomes) - own) * worth


def _fails_open(counts: Sequence[tuple[float, float]], prior: Prior) -> tuple[float, float]:
    """The shares of the mean failure rate that these counts (passed, judged) leave open: below and above 1."""
    alike = 1 / (prior.a + prior.b + 1)
    worth = [effective(judged, alike) for _, judged in counts]
    judged = fsum(n * value for (_, n), value in zip(counts, worth, strict=True))
    failed = fsum((n - passed) * value for (passed, n), value in zip(counts, worth, strict=True))
    low, high = jeffreys(failed, judged, level=_LEVEL)
    rate = 1 - prior.mean
    return min(1.0, low / rate), max(1.0, high / rate)


def _scaled(belief: Prior, share: float) -> Prior:
    """The same belief with this share of its failures."""
    trials = belief.a + belief.b
    failed = min(belief.b * share, trials * (1 - _RAREST))
    return Prior(trials - failed, max(failed, trials * _RAREST))


def _counts(cell: GateCell, correlation: float) -> tuple[float, float]:
    """The passes and failures that show its rate."""
    passed, failed = optimal.history(cell, correlation)
    if cell.past is None or cell.past.nights < 2:
        worth = effective(len(cell.outcomes), correlation)
        passed += sum(cell.outcomes) * worth
        failed += (len(cell.outcomes) - sum(cell.outcomes)) * worth
    return passed, failed


def _odds(answer: GateAnswer, belief: Prior, effort: Effort, confirm: int, correlation: float) -> CellOdds:
    """The error rates of a cell. What is not known of its rate is like a correlation of its trials."""
    rule, stop, cap = answer.decision.rule, always.verdict, always.TRIALS
    if rule == check_in.NAME:
        stop, cap = check_in.verdict, check_in.TRIALS
        confirm = 0 if answer.cell.checked_in else confirm
    if rule == optimal.NAME:
        plan = plan_after(*optimal.history(answer.cell, correlation), effort, correlation)
        stop, cap = plan.stop, plan.cap
    alike = combined(correlation, 1 / (belief.a + belief.b + 1))

    def at(rate: float) -> Operating:
        return operating(stop, rate, cap=cap, correlation=alike, confirm=confirm)

    if rule == always.NAME:
        return CellOdds(healthy=at(belief.mean))
    return CellOdds(
        healthy=at(belief.mean), small_drop=at(belief.mean * SMALL_DROP), large_drop=at(belief.mean * LARGE_DROP)
    )


def _plans(answers: Sequence[GateAnswer], effort: Effort, confirm: int, correlation: float) -> list[ErrorRates]:
    """The error rates of the cells' own plans; the most frequent plans first."""
    groups = Counter(
        cell_rates(*optimal.history(answer.cell, correlation), effort, correlation, confirm=confirm)
        for answer in answers
        if answer.decision.rule == optimal.NAME
    )
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
