"""The rules of promotion and demotion, by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from demeanor.core.values.error_rates import RATES, ErrorRates
from demeanor.core.values.errors import UnknownName
from demeanor.core.values.history import RunCell
from demeanor.decide.night_cells import ByRun, RunId, by_eval, nights_of
from demeanor.decide.promotion import classic, cusum, sprt
from demeanor.decide.promotion.candidate import Candidate

DEFAULT = classic.NAME

_NEAR = 5
"""An eval is near its promotion if it needs at most this many further nights: half of the shortest incubation."""

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
        *,
        across: bool = ...,
    ) -> Candidate: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyRule:
    """A rule that decides on an eval's policy."""

    name: str
    """Its name on the command line."""

    judge: _PolicyJudge
    """Eval, its cells by subject and night, all nights and the enabled subjects → the decision. With `across`, a change
    of a subject does not restart the count."""

    error_rates: _PolicyErrorRates
    """Its error rates at the given true rates."""


PROMOTE: Mapping[str, PolicyRule] = {
    classic.NAME: PolicyRule(
        name=classic.NAME, judge=classic.judge_promotion, error_rates=classic.promotion_error_rates
    ),
    sprt.NAME: PolicyRule(name=sprt.NAME, judge=sprt.judge, error_rates=sprt.error_rates),
}
"""The rules of promotion by name."""

DEMOTE: Mapping[str, PolicyRule] = {
    classic.NAME: PolicyRule(name=classic.NAME, judge=classic.judge_demotion, error_rates=classic.demotion_error_rates),
    cusum.NAME: PolicyRule(name=cusum.NAME, judge=cusum.judge, error_rates=cusum.error_rates),
}
"""The rules of demotion by name."""


def promote(
    cells: Iterable[RunCell],
    enabled: Mapping[str, Sequence[str]],
    *,
    rule: str = DEFAULT,
    nights: Sequence[RunId] | None = None,
    across: bool = False,
) -> tuple[Candidate, ...]:
    """Decide on each USUALLY_PASSES eval: those to promote first, then those that need the least.

    `enabled` maps the evals to their enabled subjects. `nights` are all nights, oldest first (default: the runs of the
    cells). With `across`, a change of a subject does not restart the count.
    """
    return _judge(cells, enabled, policy_rule("promote", rule), nights, across=across)


def demote(
    cells: Iterable[RunCell],
    enabled: Mapping[str, Sequence[str]],
    *,
    rule: str = DEFAULT,
    nights: Sequence[RunId] | None = None,
) -> tuple[Candidate, ...]:
    """Decide on each ALWAYS_PASSES eval: those to demote first. A failure counts, whatever changed since."""
    return _judge(cells, enabled, policy_rule("demote", rule), nights, across=True)


_ORDER = {"promote": 0, "demote": 0, "wait": 1, "keep": 2, "refuse": 3}


def _judge(
    cells: Iterable[RunCell],
    enabled: Mapping[str, Sequence[str]],
    rule: PolicyRule,
    nights: Sequence[RunId] | None,
    *,
    across: bool,
) -> tuple[Candidate, ...]:
    known = list(cells)
    runs = list(nights) if nights is not None else nights_of(known)
    evals = by_eval(known)
    found = [rule.judge(name, evals.get(name, {}), runs, subjects, across=across) for name, subjects in enabled.items()]
    return tuple(sorted(found, key=lambda one: (_ORDER[one.answer], one.distance, len(one.missing), one.eval)))


def near_promotion(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """The evals that are ready, then those that need only a few further nights."""
    ready = {"promote": 0, "wait": _NEAR}
    found = [one for one in candidates if one.answer in ready and one.distance <= ready[one.answer]]
    return tuple(sorted(found, key=lambda one: (one.answer, one.distance))[:_MOST_NEAR])


def policy_rule(action: Literal["promote", "demote"], name: str) -> PolicyRule:
    """The rule of this name."""
    rules = PROMOTE if action == "promote" else DEMOTE
    found = rules.get(name)
    if found is None:
        raise UnknownName("promotion rule" if action == "promote" else "demotion rule", name, rules)
    return found
