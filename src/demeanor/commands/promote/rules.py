"""Which evals have earned ALWAYS_PASSES, which come nearest, and which no longer deserve it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from demeanor.commands.gate.always import RATES
from demeanor.commands.promote import demotion
from demeanor.commands.promote import sprt as promote_sprt
from demeanor.commands.promote.classic import ClassicPromotion
from demeanor.commands.promote.values import Candidate
from demeanor.core.error_rates import ErrorRates
from demeanor.core.errors import UnknownName
from demeanor.core.history import RunCell
from demeanor.store.history.nights import ByRun, RunId, by_eval, nights_of

DEFAULT = "seed"


class _OfSubjects(Protocol):
    def __call__(self, rates: Sequence[float] = RATES, *, subjects: int = 1) -> ErrorRates: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyRule:
    """A rule that may change an eval's policy."""

    name: str
    """Its name on the command line."""

    judge: Callable[[str, Mapping[str, ByRun], Sequence[RunId], Sequence[str]], Candidate]
    """Eval, its cells by subject and night, all nights and the enabled subjects → what follows."""

    characteristics: _OfSubjects
    """How often it errs."""


PROMOTE: Mapping[str, PolicyRule] = {
    "seed": PolicyRule(name="seed", judge=ClassicPromotion().judge, characteristics=ClassicPromotion().characteristics),
    "sprt": PolicyRule(name="sprt", judge=promote_sprt.judge, characteristics=promote_sprt.characteristics),
}
"""The rules of promotion by name."""

DEMOTE: Mapping[str, PolicyRule] = {
    "seed": PolicyRule(name="seed", judge=demotion.judge_seed, characteristics=demotion.seed_characteristics),
    "cusum": PolicyRule(name="cusum", judge=demotion.judge_cusum, characteristics=demotion.cusum_characteristics),
}
"""The rules of demotion by name."""


def promote(
    cells: Iterable[RunCell],
    enabled: Mapping[str, Sequence[str]],
    *,
    rule: str = DEFAULT,
    nights: Sequence[RunId] | None = None,
) -> tuple[Candidate, ...]:
    """Hold each USUALLY_PASSES eval against a rule: those to be promoted first, then the nearest misses.

    `enabled` names these evals with their enabled subjects. `nights` are all nightly runs, oldest first; without it,
    those that any of the cells is of.
    """
    return _judge(cells, enabled, _named("promotion rule", rule, PROMOTE), nights)


def demote(
    cells: Iterable[RunCell],
    enabled: Mapping[str, Sequence[str]],
    *,
    rule: str = DEFAULT,
    nights: Sequence[RunId] | None = None,
) -> tuple[Candidate, ...]:
    """Hold each ALWAYS_PASSES eval against a rule: those to be demoted first."""
    return _judge(cells, enabled, _named("demotion rule", rule, DEMOTE), nights)


_ORDER = {"promote": 0, "demote": 0, "wait": 1, "keep": 2, "refuse": 3}


def _judge(
    cells: Iterable[RunCell],
    enabled: Mapping[str, Sequence[str]],
    rule: PolicyRule,
    nights: Sequence[RunId] | None,
) -> tuple[Candidate, ...]:
    known = list(cells)
    runs = list(nights) if nights is not None else nights_of(known)
    evals = by_eval(known)
    found = [rule.judge(name, evals.get(name, {}), runs, subjects) for name, subjects in enabled.items()]
    return tuple(sorted(found, key=lambda one: (_ORDER[one.answer], one.distance, len(one.missing), one.eval)))


def _named(kind: str, name: str, rules: Mapping[str, PolicyRule]) -> PolicyRule:
    if name not in rules:
        raise UnknownName(kind, name, rules)
    return rules[name]
