"""The rules of a comparison: which evals regressed, and were there enough trials to detect it?

Every eval is compared with itself by Boschloo's exact test, and the p-values are adjusted for the number of evals
(Benjamini and Hochberg). For evals without a significant difference, the smallest detectable drop shows how much that
means. The mean over the suite shows small drops that no single eval can show.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from math import fsum
from typing import TypeAlias, TypedDict

from demeanor.core.values.history import RunCell
from demeanor.core.values.policy import Policy
from demeanor.decide.night_cells import count, fingerprints
from demeanor.statistics import (
    Count,
    Difference,
    adjusted,
    boschloo,
    detectable_drop,
    fisher,
    paired_difference,
    paired_rates,
    region_of,
)

Counts = tuple[int, int]
"""Passed and judged trials."""


class CompareOutcome(StrEnum):
    """The result for one eval."""

    REGRESSED = "regressed"
    """It passes less often, significantly."""

    IMPROVED = "improved"
    """It passes more often, significantly."""

    NO_EVIDENCE = "no evidence"
    """No significant difference, with enough trials to detect a drop of 20 points."""

    UNDERPOWERED = "underpowered"
    """No significant difference, but too few trials to detect a drop of 20 points."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EvalComparison:
    """One eval (with one subject) before and after."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject; `a → b` if two subjects are compared."""

    policy: Policy
    """The policy of the eval, on the new side if it changed."""

    outcome: CompareOutcome
    """The result."""

    base: Counts
    """Passed and judged trials of the base."""

    new: Counts
    """Passed and judged trials of the new side."""

    p_value: float
    """The p-value of the observed difference (Boschloo's test, one-sided)."""

    adjusted: float
    """The p-value, adjusted for the number of evals (Benjamini and Hochberg)."""

    detectable_drop: float | None
    """The smallest drop that these trials detect with a power of 80 %; None if they can't detect even a drop to 0."""

    notes: tuple[str, ...] = ()
    """Remarks, such as several fingerprints on one side."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Shift:
    """The mean difference between base and new; all evals have the same weight."""

    base: float
    """The mean of the base."""

    new: float
    """The mean of the new side."""

    value: float
    """New minus base."""

    low: float | None
    """The lower end of its confidence interval; None if there are fewer than two evals."""

    high: float | None
    """The upper end of its confidence interval; None if there are fewer than two evals."""

    evals: int
    """The number of evals."""

    level: float = 0.95
    """The confidence level of the interval."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """The differences between two sets of cells."""

    evals: tuple[EvalComparison, ...]
    """One per eval and subject, regressions first."""

    suite: Shift | None
    """The difference of the suite's mean pass rate, without USUALLY_FAILS; None if no eval can be compared."""

    known_bad: Shift | None
    """The difference of the mean pass rate of USUALLY_FAILS evals; None if there are none."""

    cost_usd: Shift | None
    """Cost per judged trial; None if no eval has a known cost on both sides."""

    tokens: Shift | None
    """Tokens per judged trial."""

    turns: Shift | None
    """Model responses per judged trial."""

    seconds: Shift | None
    """Agent time per judged trial."""

    incomparable: tuple[tuple[str, str], ...] = ()
    """Evals that can't be compared, with the reason."""

    level: float = 0.1
    """The false discovery rate: the share of false alarms among regressed and improved evals together."""

    concern: float = 0.2
    """The size of a drop that a comparison must be able to detect."""

    @property
    def can_tell(self) -> bool:
        """Whether there is an answer: a difference, enough trials of an eval, or a mean that excludes a large drop."""
        counted = [one for one in self.evals if one.policy is not Policy.USUALLY_FAILS]
        if not counted or any(one.outcome is not CompareOutcome.UNDERPOWERED for one in counted):
            return True
        return self.suite is not None and self.suite.low is not None and self.suite.low > -self.concern


LEVEL = 0.10
"""The false discovery rate: the share of false alarms among regressed and improved evals."""

CONCERN = 0.20
"""An eval that can't detect a drop of this size is underpowered."""

DETECT_LEVEL, DETECT_POWER = 0.05, 0.8
"""A drop is detectable if a test at this level detects it with this power."""

Key: TypeAlias = tuple[str, str]
"""Eval and subject."""

Pairs: TypeAlias = dict[Key, tuple[list[RunCell], list[RunCell]]]
"""The cells of the base and of the new side."""

_MAX_BOSCHLOO = 40_000
"""With more pairs of counts, Boschloo's test is too slow; Fisher's is used, which is slightly more conservative."""

_ORDER = list(CompareOutcome)


def compare(base: Iterable[RunCell], new: Iterable[RunCell]) -> Comparison:
    """Compare `new` with `base` by eval and subject; by eval only if each side has one subject and they differ."""
    pairs, left_out = pair_up(list(base), list(new))
    scores = {key: (_score(a), _score(b)) for key, (a, b) in pairs.items()}
    policies = {key: b[-1].policy for key, (_, b) in pairs.items()}
    known_bad = {key for key, policy in policies.items() if policy is Policy.USUALLY_FAILS}
    p_values = {key: p_change(a, b) for key, (a, b) in scores.items()}
    limits = _adjusted_apart(p_values, known_bad)
    evals = []
    for (name, subject), (a, b) in scores.items():
        p, limit = p_values[name, subject], limits[name, subject]
        detectable = smallest_detectable_drop(a, b[1])
        evals.append(
            EvalComparison(
                eval=name,
                subject=subject,
                policy=policies[name, subject],
                outcome=_outcome(a, b, limit, detectable),
                base=a,
                new=b,
                p_value=p,
                adjusted=limit,
                detectable_drop=detectable,
                notes=_notes(*pairs[name, subject]),
            )
        )
    return Comparison(
        evals=tuple(sorted(evals, key=lambda one: (_ORDER.index(one.outcome), one.p_value, one.eval, one.subject))),
        suite=suite_shift({key: score for key, score in scores.items() if key not in known_bad}),
        known_bad=suite_shift({key: score for key, score in scores.items() if key in known_bad}),
        incomparable=tuple(left_out),
        level=LEVEL,
        concern=CONCERN,
        **usage_shifts(pairs),
    )


def _adjusted_apart(found: Mapping[Key, float], known_bad: Collection[Key]) -> dict[Key, float]:
    """The adjusted p-values; those of USUALLY_FAILS, which never reject, do not affect the others."""
    families = [[key for key in found if (key in known_bad) is apart] for apart in (False, True)]
    return {
        key: value for keys in families for key, value in zip(keys, adjusted([found[key] for key in keys]), strict=True)
    }


def pair_up(base: Sequence[RunCell], new: Sequence[RunCell]) -> tuple[Pairs, list[tuple[str, str]]]:
    """The cells of both sides by eval and subject; and the evals that can't be compared, with the reason."""
    here, there = ({cell.subject for cell in side} for side in (base, new))
    crossed = len(here) == len(there) == 1 and here != there
    a, b = _grouped(base, crossed=crossed), _grouped(new, crossed=crossed)
    label = f"{next(iter(here))} → {next(iter(there))}" if crossed else ""
    pairs, left_out = {}, []
    for key in sorted({*a, *b}):
        name = key[0] if crossed else f"{key[0]}/{key[1]}"
        ours, theirs = a.get(key, []), b.get(key, [])
        why = _why_not(ours, theirs)
        if why:
            left_out.append((name, why))
        else:
            pairs[key[0], label or key[1]] = (ours, theirs)
    return pairs, left_out


def p_drop(base: Counts, new: Counts) -> float:
    """The one-sided p-value of a drop."""
    test = boschloo.p_decrease if base[1] * new[1] <= _MAX_BOSCHLOO else fisher.p_decrease
    return test(*base, *new)


def p_change(base: Counts, new: Counts) -> float:
    """The two-sided p-value of a change: twice that of the direction that was seen.

    Adjusted by Benjamini and Hochberg, it limits the false discoveries of both directions together.
    """
    return min(1.0, 2 * min(p_drop(base, new), p_drop(new, base)))


@lru_cache(maxsize=4096)
def smallest_detectable_drop(base: Counts, new_judged: int) -> float | None:
    """The smallest drop from the rate of the base that `new_judged` trials detect with a power of 80 %."""
    passed, judged = base
    if passed == 0:
        return None
    rate = (passed + 0.5) / (judged + 1)
    region = region_of(
        "boschloo" if judged * new_judged <= _MAX_BOSCHLOO else "fisher", judged, new_judged, DETECT_LEVEL
    )
    return detectable_drop(lambda lower: region.chance(rate, lower), rate, power=DETECT_POWER)


def _outcome(base: Counts, new: Counts, p: float, detectable: float | None) -> CompareOutcome:
    if p <= LEVEL:
        dropped = new[0] * base[1] < base[0] * new[1]
        return CompareOutcome.REGRESSED if dropped else CompareOutcome.IMPROVED
    return CompareOutcome.UNDERPOWERED if detectable is None or detectable > CONCERN else CompareOutcome.NO_EVIDENCE


def _grouped(cells: Iterable[RunCell], *, crossed: bool) -> Mapping[Key, list[RunCell]]:
    found: dict[Key, list[RunCell]] = {}
    for cell in cells:
        found.setdefault((cell.eval, "" if crossed else cell.subject), []).append(cell)
    return found


def _why_not(base: Sequence[RunCell], new: Sequence[RunCell]) -> str | None:
    if not base or not new:
        return "only on the new side" if new else "only on the base"
    for side, cells in (("base", base), ("new side", new)):
        if all(cell.skipped for cell in cells):
            return f"it was skipped on the {side}"
        if not any(cell.judged for cell in cells):
            return f"no trial of the {side} could be judged"
    hashes = [{cell.eval_hash for cell in cells if cell.eval_hash and cell.judged} for cells in (base, new)]
    if len(hashes[0] | hashes[1]) > 1:
        return "the eval itself was edited, so its rates can't be compared"
    return None


def _notes(base: Sequence[RunCell], new: Sequence[RunCell]) -> tuple[str, ...]:
    found = ((side, fingerprints(cells)) for side, cells in (("base", base), ("new side", new)))
    return tuple(
        f"the {side} combines {len(prints)} versions of the subject (◆), with fingerprints {', '.join(prints)}"
        for side, prints in found
        if len(prints) > 1
    )


def _score(cells: Iterable[RunCell]) -> Counts:
    passed, failed = count(cells)
    return passed, passed + failed


def suite_shift(scores: Mapping[Key, tuple[Counts, Counts]]) -> Shift | None:
    """The mean difference of pass rates. All evals have the same weight; the subjects of an eval are averaged."""
    strata: dict[str, tuple[list[Count], list[Count]]] = {}
    for (name, _), (base, new) in scores.items():
        ours, theirs = strata.setdefault(name, ([], []))
        ours.append(base)
        theirs.append(new)
    if not strata:
        return None
    a, b = [pair[0] for pair in strata.values()], [pair[1] for pair in strata.values()]
    return _difference(_mean_rate(a), _mean_rate(b), paired_rates(a, b), len(strata))


def _difference(before: float, after: float, found: Difference | None, evals: int) -> Shift:
    low, high = (found.low, found.high) if found else (None, None)
    return Shift(base=before, new=after, value=after - before, low=low, high=high, evals=evals)


def _mean_rate(evals: list[list[Count]]) -> float:
    return fsum(fsum(passed / judged for passed, judged in strata) / len(strata) for strata in evals) / len(evals)


class UsageShifts(TypedDict):
    """The differences of cost, tokens, turns and time per judged trial."""

    cost_usd: Shift | None
    tokens: Shift | None
    turns: Shift | None
    seconds: Shift | None


def usage_shifts(pairs: Pairs) -> UsageShifts:
    """The mean differences per judged trial. Void attempts are included, because they cost money too.

    An eval with unknown numbers is left out: a lower bound can't be compared.
    """
    return UsageShifts(
        cost_usd=_shift(pairs, lambda cell: None if cell.unpriced else cell.spent.cost_usd),
        tokens=_shift(pairs, lambda cell: None if cell.uncounted else cell.spent.tokens),
        turns=_shift(pairs, lambda cell: cell.spent.turns),
        seconds=_shift(pairs, lambda cell: cell.spent.seconds),
    )


def _shift(pairs: Pairs, of: Callable[[RunCell], float | None]) -> Shift | None:
    """The paired difference over the evals whose number is known on both sides."""
    known: dict[str, list[tuple[float, float]]] = {}
    for (name, _), (base, new) in pairs.items():
        before, after = _per_trial(base, of), _per_trial(new, of)
        if before is not None and after is not None:
            known.setdefault(name, []).append((before, after))
    if not known:
        return None
    a, b = ([fsum(pair[side] for pair in strata) / len(strata) for strata in known.values()] for side in (0, 1))
    return _difference(fsum(a) / len(a), fsum(b) / len(b), paired_difference(a, b), len(known))


def _per_trial(cells: Sequence[RunCell], of: Callable[[RunCell], float | None]) -> float | None:
    amounts = [(of(cell), cell.judged) for cell in cells if cell.judged or cell.voided]
    if any(amount is None for amount, _ in amounts):
        return None
    return fsum(amount for amount, _ in amounts if amount is not None) / sum(judged for _, judged in amounts)
