"""Which evals got worse or better within the shown nights, and between which nights and commits."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from demeanor.commands.report.report import NightReport, NightRow
from demeanor.commands.report.rows import estimate
from demeanor.core.history import PastRun
from demeanor.core.tally import Estimate
from demeanor.core.text import one_line
from demeanor.statistics.change import RateChange, find_change
from demeanor.statistics.false_discovery import adjusted

FALSE_DISCOVERY_RATE = 0.1
"""Of the listed changes, at most this share is false on average."""


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

    last_before: PastRun
    """The last night that is surely before the change."""

    first_after: PastRun
    """The first night that is surely after it."""

    p_value: float
    """Adjusted for the number of evals and of nights."""

    @property
    def commits(self) -> str:
        """`f9436b9..f0d7934`; empty if they are not known or the same."""
        first, last = self.last_before.info.commit, self.first_after.info.commit
        return f"{first[:7]}..{last[:7]}" if first and last and first != last else ""

    @property
    def compare(self) -> str:
        """The command that compares both nights."""
        return f"demeanor compare {shlex.quote(self.last_before.name)} {shlex.quote(self.first_after.name)}"

    @property
    def bisect(self) -> str:
        """The command that finds the commit; empty if the commits are not known or the same."""
        if not self.commits:
            return ""
        name, subject = (shlex.quote(one_line(text, width=1000)) for text in (self.eval, self.subject))
        good, bad = self.last_before.info.commit, self.first_after.info.commit
        return f"demeanor bisect {name} --subject {subject} --good {(good or '')[:12]} --bad {(bad or '')[:12]}"


def rate_shifts(report: NightReport) -> tuple[RateShift, ...]:
    """The changes that are significant, the largest first; nights before an edit of the eval are left out."""
    tested: list[tuple[NightRow, str, list[int], RateChange | None]] = []
    for one in report.subjects:
        for row in one.rows:
            nights = _comparable(row)
            if len(nights) > 1 and row.tonight.judged:
                counts = [(row.cells[index].passed, row.cells[index].judged) for index in nights]
                tested.append((row, one.subject, nights, find_change(counts)))
    p_values = adjusted([1.0 if change is None else change.p_value for *_, change in tested])
    found = [
        _shift(row, subject, [report.nights[index] for index in nights], change, p_value)
        for (row, subject, nights, change), p_value in zip(tested, p_values, strict=True)
        if change is not None and p_value <= FALSE_DISCOVERY_RATE
    ]
    return tuple(sorted(found, key=lambda shift: (-abs(shift.after.value - shift.before.value), shift.eval)))


def _comparable(row: NightRow) -> list[int]:
    """The indexes of the nights with data since the last edit of the eval."""
    edits = [index for index, cell in enumerate(row.cells) if "eval" in cell.marks]
    first = edits[-1] if edits else 0
    return [index for index, cell in enumerate(row.cells) if cell.judged and index >= first]


def _shift(row: NightRow, subject: str, nights: Sequence[PastRun], change: RateChange, p_value: float) -> RateShift:
    return RateShift(
        eval=row.eval,
        subject=subject,
        fell=change.fell,
        before=estimate(*change.before),
        after=estimate(*change.after),
        counts=(change.before, change.after),
        last_before=nights[change.earliest - 1],
        first_after=nights[change.latest],
        p_value=p_value,
    )
