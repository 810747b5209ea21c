"""The rules of a comparison: did the new side get worse, and were there enough trials to say that it did not?

Every eval is compared with itself by Boschloo's exact test, and the p-values are adjusted for the number of evals
(Benjamini and Hochberg). For evals without a significant difference, the smallest detectable drop shows how much that
means. The mean over the suite shows small drops that no single eval can show: the new side is worse if the interval of
the mean is below 0, and not worse only if it excludes a drop of `margin` and no eval is suspicious.

A second look is possible: fresh trials of the evals that look worse, which are tested by these trials only, so that few
tests need to be adjusted for. The mean is that of the first look, because the second has only evals that looked worse.

Trials of one run may be correlated, as those of a night are. Then each is worth a part of an independent one: the score
of a test is reduced accordingly, and so is the least standard error of the mean. Sides that run at the same time share
what correlates them, so it cancels out.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from math import ceil, fsum, sqrt
from statistics import NormalDist
from typing import Literal, TypeAlias, TypedDict

from demeanor.core.values.history import RunCell
from demeanor.core.values.policy import Policy
from demeanor.decide.nights.night_cells import count, fingerprints
from demeanor.statistics import (
    Count,
    Difference,
    Interval,
    adjusted,
    boschloo,
    detectable_drop,
    effective,
    fisher,
    newcombe,
    paired_difference,
    paired_rates,
    region_of,
    student_factor,
)

Counts = tuple[int, int]
"""Passed and judged trials."""


CompareAnswer: TypeAlias = Literal["worse", "not worse", "undecided"]


class CompareOutcome(StrEnum):
    """The result for one eval."""

    REGRESSED = "regressed"
    """It passes less often, significantly."""

    SUSPICIOUS = "suspicious"
    """It may pass less often: a drop like this is seen by chance in less than one of ten."""

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
    """Passed and judged trials of the base, without those of the second look."""

    new: Counts
    """Passed and judged trials of the new side, without those of the second look."""

    p_value: float
    """The p-value of the difference (Boschloo's test, two-sided); of the second look, if there was one, for a drop."""

    adjusted: float
    """The p-value, adjusted for the number of evals (Benjamini and Hochberg)."""

    detectable_drop: float | None
    """The smallest drop that these trials detect with a power of 80 %; None if they can't detect even a drop to 0."""

    notes: tuple[str, ...] = ()
    """Remarks, such as several fingerprints on one side."""

    again: tuple[Counts, Counts] | None = None
    """Passed and judged trials of the second look, of the base and of the new side; None if there was none."""


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

    @property
    def fell(self) -> bool:
        """Whether its interval is below 0."""
        return self.high is not None and self.high < 0

    @property
    def hidden(self) -> float:
        """The size of a drop that its interval does not exclude."""
        return self.base if self.low is None else max(0.0, -self.low)


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

    uncompared: tuple[str, ...] = ()
    """Those of them that the base has results of, so that a drop could be hidden in them."""

    doubtful: int = 0
    """Void trials of the new side, if it could be worse with these as failures; an agent can bring most voids about."""

    level: float = 0.1
    """The false discovery rate: the share of false alarms among regressed and improved evals together."""

    concern: float = 0.2
    """The size of a drop that a comparison must be able to detect."""

    margin: float = 0.05
    """A drop of the mean pass rate by less than this is tolerated."""

    trials_needed: int | None = None
    """The trials per eval and side that tell a drop of the mean by `margin` from no change (4 times of 5); None
    if it fell, or there is no interval."""

    @property
    def counted(self) -> tuple[EvalComparison, ...]:
        """The evals that count, which are those that are not USUALLY_FAILS."""
        return tuple(cell for cell in self.evals if cell.policy is not Policy.USUALLY_FAILS)

    @property
    def suspicious(self) -> tuple[EvalComparison, ...]:
        """The evals that may have regressed."""
        return tuple(cell for cell in self.counted if cell.outcome is CompareOutcome.SUSPICIOUS)

    @property
    def answer(self) -> CompareAnswer:
        """Whether the new side is worse."""
        fell = self.suite is not None and self.suite.fell
        if fell or any(cell.outcome is CompareOutcome.REGRESSED for cell in self.counted):
            return "worse"
        sure = self.suite is not None and self.suite.low is not None and self.suite.low > -self.margin
        sure = sure and not self.suspicious and not self.uncompared and not self.doubtful
        return "not worse" if sure else "undecided"


LEVEL = 0.10
"""The false discovery rate: the share of false alarms among regressed and improved evals."""

MARGIN = 0.05
"""A drop of the mean pass rate by less than this is tolerated, unless the configuration says otherwise."""

SUSPICION = 0.10
"""An eval is suspicious if the one-sided p-value of its drop is at most this."""

SECOND_LEVEL = 0.025
"""The share of false alarms among the evals that regressed in a second look."""

CONCERN = 0.20
"""An eval that can't detect a drop of this size is underpowered."""

DETECT_LEVEL, DETECT_POWER = 0.05, 0.8
"""A drop is detectable if a test at this level detects it with this power."""

Key: TypeAlias = tuple[str, str]
"""Eval and subject."""

Pairs: TypeAlias = dict[Key, tuple[list[RunCell], list[RunCell]]]
"""The cells of the base and of the new side."""

Scores: TypeAlias = Mapping[Key, tuple[Counts, Counts]]
"""Passed and judged trials of the base and of the new side."""

Worth: TypeAlias = tuple[float, float]
"""What a trial is worth, on the base and on the new side: a part of an independent one."""

INDEPENDENT: Worth = (1.0, 1.0)

_MAX_BOSCHLOO = 40_000
"""With more pairs of counts, Boschloo's test is too slow; Fisher's is used, which is slightly more conservative."""

_ORDER = list(CompareOutcome)


def compare(
    base: Iterable[RunCell],
    new: Iterable[RunCell],
    *,
    again: tuple[Iterable[RunCell], Iterable[RunCell]] = ((), ()),
    margin: float = MARGIN,
    correlation: float = 0.0,
) -> Comparison:
    """Compare `new` with `base` by eval and subject; by eval only if each side has one subject and they differ.

    `again` are fresh trials of suspicious evals, of the base and of the new side. The trials of a run have this
    correlation.
    """
    pairs, left_out, uncompared = pair_up(list(base), list(new))
    scores = {key: (_score(a), _score(b)) for key, (a, b) in pairs.items()}
    policies = {key: b[-1].policy for key, (_, b) in pairs.items()}
    known_bad = {key for key, policy in policies.items() if policy is Policy.USUALLY_FAILS}
    worth = {key: (_worth(a, correlation), _worth(b, correlation)) for key, (a, b) in pairs.items()}
    p_values = {key: p_change(a, b, worth[key]) for key, (a, b) in scores.items()}
    limits = _adjusted_apart(p_values, known_bad)
    second = _enough(scores, {key: (_score(a), _score(b)) for key, (a, b) in pair_up(*map(list, again))[0].items()})
    p_again = {key: p_drop(a, b, worth[key]) for key, (a, b) in second.items()}
    limits |= dict(zip(p_again, adjusted([*p_again.values()]), strict=True))
    evals = []
    for key, (a, b) in scores.items():
        last_base, last_new = second.get(key, (a, b))
        ours, theirs = (_effective(*side) for side in zip((last_base, last_new), worth[key], strict=True))
        detectable = smallest_detectable_drop((round(ours[0]), round(ours[1])), round(theirs[1]))
        level = SECOND_LEVEL if key in second else LEVEL
        outcome = _outcome(last_base, last_new, limits[key], detectable, level=level, worth=worth[key])
        evals.append(
            EvalComparison(
                eval=key[0],
                subject=key[1],
                policy=policies[key],
                outcome=outcome,
                base=a,
                new=b,
                p_value=p_again.get(key, p_values[key]),
                adjusted=limits[key],
                detectable_drop=detectable,
                notes=_notes(*pairs[key]),
                again=second.get(key),
            )
        )
    counted = {key: score for key, score in scores.items() if key not in known_bad}
    suite = suite_shift(counted, worth)
    return Comparison(
        evals=tuple(
            sorted(evals, key=lambda item: (_ORDER.index(item.outcome), item.p_value, item.eval, item.subject))
        ),
        suite=suite,
        known_bad=suite_shift({key: score for key, score in scores.items() if key in known_bad}, worth),
        incomparable=tuple(left_out),
        uncompared=uncompared,
        doubtful=_doubtful({key: pairs[key] for key in counted}, worth, margin),
        level=LEVEL,
        concern=CONCERN,
        margin=margin,
        trials_needed=_trials_needed(suite, [*counted.values()], margin),
        **usage_shifts(pairs),
    )


def _doubtful(pairs: Pairs, worth: Mapping[Key, Worth], margin: float) -> int:
    """The void trials of the new side, if it could not be called «not worse» with these as failures."""
    voided = sum(cell.voided for _, new in pairs.values() for cell in new)
    if not voided:
        return 0
    failed = {key: [replace(cell, failed=cell.failed + cell.voided) for cell in new] for key, (_, new) in pairs.items()}
    scores = {key: (_score(base), _score(failed[key])) for key, (base, _) in pairs.items()}
    suite = suite_shift(scores, worth)
    suspicious = any(p_drop(a, b, worth[key]) <= SUSPICION for key, (a, b) in scores.items() if _fell(a, b))
    sure = suite is not None and suite.low is not None and suite.low > -margin and not suspicious
    return 0 if sure else voided


def _fell(base: Counts, new: Counts) -> bool:
    return new[0] * base[1] < base[0] * new[1]


def to_look_at_again(first: Comparison) -> frozenset[Key]:
    """The evals, with their subjects, that need fresh trials: all that look worse, unless the mean fell in any case."""
    if first.suite is not None and first.suite.fell:
        return frozenset()
    worse = (CompareOutcome.REGRESSED, CompareOutcome.SUSPICIOUS)
    return frozenset((cell.eval, cell.subject) for cell in first.counted if cell.outcome in worse)


def _enough(first: Scores, second: Scores) -> Scores:
    """The second looks that had no fewer judged trials than the first: others, of which most are void, tell less."""
    return {
        key: (base, new)
        for key, (base, new) in second.items()
        if key in first and base[1] >= first[key][0][1] and new[1] >= first[key][1][1]
    }


def _trials_needed(suite: Shift | None, scores: Sequence[tuple[Counts, Counts]], margin: float) -> int | None:
    """Those that follow from the mean pass rate; more, if this comparison already had as many and was unlucky."""
    if suite is None or suite.low is None or suite.fell:
        return None
    counts = [score for pair in scores for score in pair]
    student = student_factor(suite.level, suite.evals - 1 or 1000)  # the interval of a single eval is not Student's
    reach = (student + NormalDist().inv_cdf(DETECT_POWER)) / margin
    judged = sum(trials for _, trials in counts)
    rate = (sum(passed for passed, _ in counts) + 0.5) / (judged + 1)
    planned = ceil(2 * rate * (1 - rate) / len(scores) * reach**2)
    tried = ceil(judged / len(counts))
    width = (suite.value - suite.low) / student
    return planned if planned > tried else max(2 * tried, ceil(tried * (width * reach) ** 2))


def _adjusted_apart(differences: Mapping[Key, float], known_bad: Collection[Key]) -> dict[Key, float]:
    """The adjusted p-values; those of USUALLY_FAILS, which never reject, do not affect the others."""
    families = [[key for key in differences if (key in known_bad) is apart] for apart in (False, True)]
    return {
        key: value
        for keys in families
        for key, value in zip(keys, adjusted([differences[key] for key in keys]), strict=True)
    }


def pair_up(base: Sequence[RunCell], new: Sequence[RunCell]) -> tuple[Pairs, list[tuple[str, str]], tuple[str, ...]]:
    """The cells of both sides by eval and subject; the evals that can't be compared, with the reason; and those of
    them that the base has results of."""
    here, there = ({cell.subject for cell in side} for side in (base, new))
    crossed = len(here) == len(there) == 1 and here != there
    a, b = _grouped(base, crossed=crossed), _grouped(new, crossed=crossed)
    label = f"{next(iter(here))} → {next(iter(there))}" if crossed else ""
    pairs, left_out, uncompared = {}, [], []
    for key in sorted({*a, *b}):
        name = key[0] if crossed else f"{key[0]}/{key[1]}"
        ours, theirs = a.get(key, []), b.get(key, [])
        why = _why_not(ours, theirs)
        if why:
            left_out.append((name, why))
            if any(cell.judged and cell.policy is not Policy.USUALLY_FAILS for cell in ours):
                uncompared.append(name)
        else:
            pairs[key[0], label or key[1]] = (ours, theirs)
    return pairs, left_out, tuple(uncompared)


def p_drop(base: Counts, new: Counts, worth: Worth = INDEPENDENT) -> float:
    """The one-sided p-value of a drop, with what a trial of each side is worth."""
    test = boschloo.p_decrease if base[1] * new[1] <= _MAX_BOSCHLOO else fisher.p_decrease
    return _weakened(test(*base, *new), base[1], new[1], worth)


def _weakened(p: float, base: int, new: int, worth: Worth) -> float:
    """A p-value whose score is reduced as the standard error grows."""
    if worth == INDEPENDENT or not 0 < p < 1:
        return p
    part = (1 / base + 1 / new) / (1 / base / worth[0] + 1 / new / worth[1])
    return NormalDist().cdf(NormalDist().inv_cdf(p) * sqrt(part))


def _worth(cells: Sequence[RunCell], correlation: float) -> float:
    """What a trial of these runs is worth, if those of a run are correlated."""
    judged = [cell.judged for cell in cells if cell.judged]
    return effective(fsum(n * n for n in judged) / sum(judged), correlation)


def _effective(counts: Counts, worth: float) -> tuple[float, float]:
    return counts[0] * worth, counts[1] * worth


def p_change(base: Counts, new: Counts, worth: Worth = INDEPENDENT) -> float:
    """The two-sided p-value of a change: twice that of the direction that was seen.

    Adjusted by Benjamini and Hochberg, it limits the false discoveries of both directions together.
    """
    return min(1.0, 2 * min(p_drop(base, new, worth), p_drop(new, base, worth[::-1])))


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


def _outcome(
    base: Counts, new: Counts, p: float, detectable: float | None, *, level: float, worth: Worth
) -> CompareOutcome:
    dropped = _fell(base, new)
    if p <= level:
        return CompareOutcome.REGRESSED if dropped else CompareOutcome.IMPROVED
    if dropped and p_drop(base, new, worth) <= SUSPICION:
        return CompareOutcome.SUSPICIOUS
    return CompareOutcome.UNDERPOWERED if detectable is None or detectable > CONCERN else CompareOutcome.NO_EVIDENCE


def _grouped(cells: Iterable[RunCell], *, crossed: bool) -> Mapping[Key, list[RunCell]]:
    groups: dict[Key, list[RunCell]] = {}
    for cell in cells:
        groups.setdefault((cell.eval, "" if crossed else cell.subject), []).append(cell)
    return groups


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
    prints_of = ((side, fingerprints(cells)) for side, cells in (("base", base), ("new side", new)))
    return tuple(
        f"the {side} combines {len(prints)} versions of the subject (◆), with fingerprints {', '.join(prints)}"
        for side, prints in prints_of
        if len(prints) > 1
    )


def _score(cells: Iterable[RunCell]) -> Counts:
    passed, failed = count(cells)
    return passed, passed + failed


def suite_shift(scores: Scores, worth: Mapping[Key, Worth] | None = None) -> Shift | None:
    """The mean difference of pass rates. All evals have the same weight; the subjects of an eval are averaged."""
    strata: dict[str, tuple[list[Count], list[Count]]] = {}
    for key, (base, new) in scores.items():
        ours, theirs = strata.setdefault(key[0], ([], []))
        part = (worth or {}).get(key, INDEPENDENT)
        ours.append(_effective(base, part[0]))
        theirs.append(_effective(new, part[1]))
    if not strata:
        return None
    a, b = [pair[0] for pair in strata.values()], [pair[1] for pair in strata.values()]
    interval: Difference | Interval | None = paired_rates(a, b)
    if len(strata) == 1:  # the subjects of the only eval are the pairs
        interval = paired_rates([[c] for c in a[0]], [[c] for c in b[0]]) or newcombe(a[0][0], b[0][0])
    return _difference(_mean_rate(a), _mean_rate(b), interval, len(strata))


def _difference(before: float, after: float, difference: Difference | Interval | None, evals: int) -> Shift:
    low, high = (difference.low, difference.high) if difference else (None, None)
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
    rates_by_eval: dict[str, list[tuple[float, float]]] = {}
    for (name, _), (base, new) in pairs.items():
        before, after = _per_trial(base, of), _per_trial(new, of)
        if before is not None and after is not None:
            rates_by_eval.setdefault(name, []).append((before, after))
    if not rates_by_eval:
        return None
    a, b = ([fsum(pair[side] for pair in strata) / len(strata) for strata in rates_by_eval.values()] for side in (0, 1))
    return _difference(fsum(a) / len(a), fsum(b) / len(b), paired_difference(a, b), len(rates_by_eval))


def _per_trial(cells: Sequence[RunCell], of: Callable[[RunCell], float | None]) -> float | None:
    amounts = [(of(cell), cell.judged) for cell in cells if cell.judged or cell.voided]
    if any(amount is None for amount, _ in amounts):
        return None
    return fsum(amount for amount, _ in amounts if amount is not None) / sum(judged for _, judged in amounts)
