"""Which evals got worse or better within the shown nights, and between which nights and commits."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Set
from dataclasses import dataclass

from demeanor.core.text.wording import one_line
from demeanor.core.values.history import RunCell
from demeanor.core.values.run_diff import ChangePoint
from demeanor.core.values.tally import Estimate
from demeanor.decide.nights.baseline import correlation_of
from demeanor.decide.nights.change_points import rate_histories
from demeanor.statistics import estimate


@dataclass(frozen=True, kw_only=True, slots=True)
class ShiftNight:
    """A night at one end of the range in which a rate changed."""

    name: str
    """The run's name."""

    started: str
    """When it began: ISO 8601, UTC."""

    commit: str | None
    """The commit it ran at."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RateShift:
    """One eval with one subject whose pass rate changed within the shown nights."""

    eval: str
    """The eval's name."""

    subject: str
    """The subject, as `agent:model`."""

    fell: bool
    """Whether it got worse."""

    before: Estimate
    """The rate before."""

    after: Estimate
    """The rate since."""

    counts: tuple[tuple[int, int], tuple[int, int]]
    """Passed and judged, before and since."""

    last_before: ShiftNight
    """The last night that is surely before the change."""

    first_after: ShiftNight
    """The first night that is surely after it."""

    began: str
    """The run that is most likely the first one after it, or next to it."""

    example: int | None = None
    """The number of a trial of this night to look at: one that failed, or else the first; None if unknown."""

    example_run: str = ""
    """The run of that trial."""

    @property
    def commits(self) -> str:
        """`f9436b9..f0d7934`; empty if they are not known or the same."""
        first, last = self.last_before.commit, self.first_after.commit
        return f"{first[:7]}..{last[:7]}" if first and last and first != last else ""

    @property
    def stretches(self) -> tuple[str, str]:
        """The nights up to the change and those since, as `demeanor compare` names them: a single night of each would
        have too few trials."""
        return f"..{self.last_before.name}", f"{self.first_after.name}.."

    @property
    def compare(self) -> str:
        """The command that compares the nights up to the change with those since."""
        return f"demeanor compare {' '.join(map(shlex.quote, self.stretches))}"

    @property
    def bisect(self) -> str:
        """The command that finds the commit; empty if the commits are not known or the same."""
        if not self.commits:
            return ""
        name, subject = (shlex.quote(one_line(text, width=1000)) for text in (self.eval, self.subject))
        good, bad = self.last_before.commit, self.first_after.commit
        return f"demeanor bisect {name} --subject {subject} --good {(good or '')[:12]} --bad {(bad or '')[:12]}"


@dataclass(frozen=True, kw_only=True, slots=True)
class NoticedShift:
    """The latest change of an eval with one subject, in whichever night."""

    noticed: str
    """The first run with enough evidence."""

    shift: RateShift
    """The change."""


def rate_shifts(cells: Iterable[RunCell], shown: Set[str], tonight: str) -> tuple[RateShift, ...]:
    """The latest change of each eval and subject of tonight: falls, and rises that a shown night saw."""
    return shifts_within(latest_shifts(cells, tonight), shown)


def latest_shifts(cells: Iterable[RunCell], tonight: str) -> tuple[NoticedShift, ...]:
    """The latest change of each eval and subject that has results of tonight."""
    cells = tuple(cells)
    by_eval: dict[str, list[RunCell]] = {}
    correlation = correlation_of(cells).value
    for cell in cells:
        by_eval.setdefault(cell.eval, []).append(cell)
    shifts = []
    for name, own in by_eval.items():
        present = {cell.subject for cell in own if cell.run == tonight and cell.judged}
        if not present or not may_have_changed(own):
            continue
        for subject, course in rate_histories(own, correlation).items():
            last = course.points[-1] if course.points else None
            if last is not None and subject in present:
                shifts.append(NoticedShift(noticed=last.noticed, shift=_shift(name, subject, last, own)))
    return tuple(shifts)


def shifts_within(noticed: Iterable[NoticedShift], shown: Set[str]) -> tuple[RateShift, ...]:
    """The changes to show, the largest first: a fall until a rise follows, a rise if a shown night saw it."""
    seen = [item.shift for item in noticed if item.shift.fell or shown & {item.noticed, item.shift.first_after.name}]
    return tuple(
        sorted(seen, key=lambda shift: (-abs(shift.after.value - shift.before.value), shift.eval, shift.subject))
    )


def may_have_changed(cells: Iterable[RunCell]) -> bool:
    """Whether some trials passed and others failed: a quick check that leaves out most evals."""
    passed = failed = 0
    for cell in cells:
        passed += cell.passed
        failed += cell.failed
    return passed > 0 and failed > 0


def _shift(name: str, subject: str, point: ChangePoint, cells: Iterable[RunCell]) -> RateShift:
    nights = {
        cell.run: ShiftNight(name=cell.run, started=cell.started, commit=cell.commit)
        for cell in cells
        if cell.subject == subject
    }
    return RateShift(
        eval=name,
        subject=subject,
        fell=point.direction == "fall",
        before=estimate(*point.before),
        after=estimate(*point.after),
        counts=(point.before, point.after),
        last_before=nights[point.last_before],
        first_after=nights[point.first_after],
        began=point.began,
    )
