"""The rules of promotion and demotion, by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol

from demeanor.core.values.error_rates import RATES, ErrorRates
from demeanor.core.values.errors import UnknownName
from demeanor.core.values.history import RunCell
from demeanor.decide.nights.baseline import correlation_of
from demeanor.decide.nights.night_cells import ByRun, RunId, by_eval, nights_of
from demeanor.decide.promotion import both, classic, cusum, sprt
from demeanor.decide.promotion.candidate import Candidate

DEFAULTS: Mapping[Literal["promote", "demote"], str] = {"promote": both.NAME, "demote": cusum.NAME}
"""The rule of each direction, unless another one is named."""

NIGHTS = both.NIGHTS
"""The latest nights that decide about a promotion by default."""

_NEAR = 8
"""An eval is near its promotion if it needs at most this many further nights: half of the shortest way to it."""

_MOST_NEAR = 5


class _PolicyErrorRates(Protocol):
    def __call__(self, rates: Sequence[float] = RATES, *, subjects: int = 1, trials: int = 3) -> ErrorRates: ...


class _PolicyJudge(Protocol):
    def __call__(
        self,
        name: str,
        cells: Mapping[str, ByRun],
        nights: Sequence[RunId],
        subjects: Sequence[str],
    ) -> Candidate: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyRule:
    """A rule that decides on an eval's policy."""

    name: str
    """Its name on the command line."""

    judge: _PolicyJudge
    """Eval, its cells by subject and night, all nights and the enabled subjects → the decision."""

    correlated: Callable[[float], _PolicyJudge] | None = None
    """The same for trials of a night with this correlation; None if it does not matter."""

    error_rates: _PolicyErrorRates
    """Its error rates at the given true rates."""

    nights: int | None = None
    """The latest nights that it looks at; None for all."""

    nights_until: Callable[[float, int], float] | None = None
    """True rate and trials per night → the mean number of nights until it acts on an eval with one subject; None if its
    answer may be final."""


PROMOTE: Mapping[str, PolicyRule] = {
    both.NAME: PolicyRule(
        name=both.NAME,
        judge=both.judge,
        error_rates=both.error_rates,
        nights=both.NIGHTS,
        nights_until=both.nights_until,
    ),
    classic.NAME: PolicyRule(
        name=classic.NAME,
        judge=classic.judge_promotion,
        error_rates=classic.promotion_error_rates,
        nights_until=classic.nights_until_promotion,
    ),
    sprt.NAME: PolicyRule(name=sprt.NAME, judge=sprt.judge, error_rates=sprt.error_rates),
}
"""The rules of promotion by name."""

DEMOTE: Mapping[str, PolicyRule] = {
    cusum.NAME: PolicyRule(
        name=cusum.NAME,
        judge=cusum.judge,
        correlated=lambda correlation: partial(cusum.judge, correlation=correlation),
        error_rates=cusum.error_rates,
        nights_until=cusum.nights_until,
    ),
    classic.NAME: PolicyRule(
        name=classic.NAME,
        judge=classic.judge_demotion,
        error_rates=classic.demotion_error_rates,
        nights_until=classic.nights_until_demotion,
    ),
}
"""The rules of demotion by name."""


def promote(
    cells: Iterable[RunCell],
    enabled: Mapping[str, Sequence[str]],
    *,
    rule: str = DEFAULTS["promote"],
    nights: Sequence[RunId] | None = None,
) -> tuple[Candidate, ...]:
    """Decide on each USUALLY_PASSES eval: those to promote first, then those that need the least.

    `enabled` maps the evals to their enabled subjects. `nights` are all nights, oldest first (default: the runs of the
    cells).
    """
    return _judge(cells, enabled, policy_rule("promote", rule), nights)


def demote(
    cells: Iterable[RunCell],
    enabled: Mapping[str, Sequence[str]],
    *,
    rule: str = DEFAULTS["demote"],
    nights: Sequence[RunId] | None = None,
) -> tuple[Candidate, ...]:
    """Decide on each ALWAYS_PASSES eval: those to demote first. A failure counts, whatever changed since."""
    return _judge(cells, enabled, policy_rule("demote", rule), nights)


_ORDER = {"promote": 0, "demote": 0, "wait": 1, "keep": 2, "refuse": 3}


def _judge(
    cells: Iterable[RunCell],
    enabled: Mapping[str, Sequence[str]],
    rule: PolicyRule,
    nights: Sequence[RunId] | None,
) -> tuple[Candidate, ...]:
    all_cells = list(cells)
    runs = list(nights) if nights is not None else nights_of(all_cells)
    evals = by_eval(all_cells)
    judge = rule.judge if rule.correlated is None else rule.correlated(correlation_of(all_cells).value)
    candidates = [judge(name, evals.get(name, {}), runs, subjects) for name, subjects in enabled.items()]
    return tuple(
        sorted(
            candidates,
            key=lambda candidate: (
                _ORDER[candidate.answer],
                candidate.distance,
                len(candidate.missing),
                candidate.eval,
            ),
        )
    )


def near_promotion(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """The evals that are ready, then those that need only a few further nights."""
    ready = {"promote": 0, "wait": _NEAR}
    ready_candidates = [
        candidate
        for candidate in candidates
        if candidate.answer in ready and candidate.distance <= ready[candidate.answer]
    ]
    return tuple(sorted(ready_candidates, key=lambda candidate: (candidate.answer, candidate.distance))[:_MOST_NEAR])


def flapping(promotion: PolicyRule, demotion: PolicyRule, rate: float, trials: int) -> float | None:
    """How often a year an eval with one subject and this true rate is promoted and demoted again, if both rules are
    applied every night; None if an answer may be final."""
    if promotion.nights_until is None or demotion.nights_until is None:
        return None
    return 365.25 / (promotion.nights_until(rate, trials) + demotion.nights_until(rate, trials))


def policy_rule(action: Literal["promote", "demote"], name: str) -> PolicyRule:
    """The rule of this name."""
    rules = PROMOTE if action == "promote" else DEMOTE
    rule = rules.get(name)
    if rule is None:
        raise UnknownName("promotion rule" if action == "promote" else "demotion rule", name, rules)
    return rule
