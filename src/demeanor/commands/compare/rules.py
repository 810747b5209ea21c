"""Two sets of cells held against each other: which evals passed less often, and could we have seen it?

Every eval is compared with itself by Boschloo's exact test, and the p-values are raised for being many (Benjamini and
Hochberg). Where nothing is found, the smallest drop that so few trials could have shown tells whether that means
anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from demeanor.commands.compare.suite import suite_shift
from demeanor.commands.compare.usage import spent_shifts
from demeanor.commands.compare.values import CompareOutcome, Comparison, Counts, EvalComparison
from demeanor.core.history import RunCell
from demeanor.statistics import boschloo, fisher
from demeanor.statistics.false_discovery import adjusted
from demeanor.statistics.power import detectable_drop, region_of
from demeanor.store.history.nights import count, fingerprints

LEVEL = 0.10
"""The share of false alarms allowed among what is called regressed or improved."""

CONCERN = 0.20
"""A drop of so many points is worth knowing of: who could not see it is underpowered."""

SEEN_LEVEL, SEEN_POWER = 0.05, 0.8
"""A drop counts as visible where a test at this level sees it with this power."""

Key: TypeAlias = tuple[str, str]
_LARGEST = 40_000
"""Beyond so many pairs of counts Fisher's test, which is a little stricter, takes the place of Boschloo's."""
_ORDER = list(CompareOutcome)


def compare(
    base: Iterable[RunCell], new: Iterable[RunCell], *, level: float = LEVEL, concern: float = CONCERN
) -> Comparison:
    """Hold `new` against `base`: by eval and subject, or by eval where each side has one subject, and not the same."""
    pairs, left_out = pair_up(list(base), list(new))
    scores = {key: (_score(a), _score(b)) for key, (a, b) in pairs.items()}
    falls = adjusted([p_fall(*score) for score in scores.values()])
    rises = adjusted([p_fall(b, a) for a, b in scores.values()])
    evals = []
    for ((name, subject), (a, b)), fall, rise in zip(scores.items(), falls, rises, strict=True):
        down, up = p_fall(a, b), p_fall(b, a)
        drop = visible_drop(a, b[1])
        outcome = _outcome(fall, rise, drop, level=level, concern=concern)
        fallen = outcome is CompareOutcome.REGRESSED or (outcome is not CompareOutcome.IMPROVED and down <= up)
        evals.append(
            EvalComparison(
                eval=name,
                subject=subject,
                outcome=outcome,
                base=a,
                new=b,
                p_value=down if fallen else up,
                adjusted=fall if fallen else rise,
                detectable_drop=drop,
                notes=_notes(*pairs[name, subject]),
            )
        )
    return Comparison(
        evals=tuple(sorted(evals, key=lambda one: (_ORDER.index(one.outcome), one.p_value, one.eval, one.subject))),
        suite=suite_shift(scores),
        incomparable=tuple(left_out),
        level=level,
        **spent_shifts(pairs),
    )


def pair_up(
    base: Sequence[RunCell], new: Sequence[RunCell]
) -> tuple[dict[Key, tuple[list[RunCell], list[RunCell]]], list[tuple[str, str]]]:
    """The cells of both sides that belong together; and what was left out, with the reason."""
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


def p_fall(base: Counts, new: Counts) -> float:
    """The one-sided p-value of a fall."""
    test = boschloo.p_decrease if base[1] * new[1] <= _LARGEST else fisher.p_decrease
    return test(*base, *new)


@lru_cache(maxsize=4096)
def visible_drop(base: Counts, new_judged: int) -> float | None:
    """The smallest drop from the base's rate that so many trials would probably have shown."""
    passed, judged = base
    if passed == 0:
        return None
    rate = (passed + 0.5) / (judged + 1)
    region = region_of("boschloo" if judged * new_judged <= _LARGEST else "fisher", judged, new_judged, SEEN_LEVEL)
    return detectable_drop(lambda lower: region.chance(rate, lower), rate, power=SEEN_POWER)


def _outcome(fall: float, rise: float, drop: float | None, *, level: float, concern: float) -> CompareOutcome:
    if fall <= level:
        return CompareOutcome.REGRESSED
    if rise <= level:
        return CompareOutcome.IMPROVED
    return CompareOutcome.UNDERPOWERED if drop is None or drop > concern else CompareOutcome.NO_EVIDENCE


def _grouped(cells: Iterable[RunCell], *, crossed: bool) -> Mapping[Key, list[RunCell]]:
    found: dict[Key, list[RunCell]] = {}
    for cell in cells:
        found.setdefault((cell.eval, "" if crossed else cell.subject), []).append(cell)
    return found


def _why_not(base: Sequence[RunCell], new: Sequence[RunCell]) -> str | None:
    if not base or not new:
        return "only in the new set" if new else "only in the base"
    for side, cells in (("base", base), ("new set", new)):
        if not any(cell.judged for cell in cells):
            return f"no trial of the {side} could be judged"
    hashes = [{cell.eval_hash for cell in cells if cell.eval_hash and cell.judged} for cells in (base, new)]
    if len(hashes[0] | hashes[1]) > 1:
        return "the eval itself changed, so its rates are not of one thing"
    return None


def _notes(base: Sequence[RunCell], new: Sequence[RunCell]) -> tuple[str, ...]:
    found = ((side, fingerprints(cells)) for side, cells in (("base", base), ("new set", new)))
    return tuple(
        f"the {side} adds up {len(prints)} different fingerprints: {', '.join(prints)}"
        for side, prints in found
        if len(prints) > 1
    )


def _score(cells: Iterable[RunCell]) -> Counts:
    passed, failed = count(cells)
    return passed, passed + failed
