"""What to know first about a night: what got worse or better, news, causes of voids, and what is near promotion.

Terminal and markdown show it before their tables, with the same words.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from demeanor.core.text.wording import count, one_line
from demeanor.decide.nights import RateShift
from demeanor.render import numbers
from demeanor.reports.night.report import NightReport

MOST = 8
"""Items of a section."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DigestItem:
    """One thing to know."""

    text: str
    """What it is. Untrusted text, on one line."""

    commands: tuple[str, ...] = ()
    """Commands that show more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DigestSection:
    """Things of one kind."""

    title: str
    """What they are."""

    items: tuple[DigestItem, ...]
    """The things; at most MOST."""

    more: int = 0
    """How many further ones there are."""


def verdict(report: NightReport) -> str:
    """`Rejected: 2 of 12 cells rejected`."""
    return f"{report.verdict.capitalize()}: {report.reason}"


def digest(report: NightReport) -> Iterator[DigestSection]:
    """The sections that have something to tell."""
    sections = {
        "Got worse": [_shift(shift) for shift in report.worse],
        "Got better": [_shift(shift) for shift in report.better],
        "News": [DigestItem(text=f"★ {_cell(name, subject)}: {why}") for name, subject, why in report.news],
        "Void, so not counted": [
            DigestItem(text=f"{cause.cause}: {count(cause.trials, 'trial')}") for cause in report.void_causes
        ],
        "Near promotion": [
            DigestItem(text=f"{one_line(promotion.eval)}: {'ready, ' if promotion.ready else ''}{promotion.reason}")
            for promotion in report.near
        ],
    }
    for title, items in sections.items():
        if items:
            yield DigestSection(title=title, items=tuple(items[:MOST]), more=max(0, len(items) - MOST))


def _shift(shift: RateShift) -> DigestItem:
    rates = f"{numbers.percent(shift.before.value)} → {numbers.percent(shift.after.value)}"
    (a, b), (c, d) = shift.counts
    nights = f"between {shift.last_before.started[:10]} and {shift.first_after.started[:10]}"
    commits = f", commits {shift.commits}" if shift.commits else ""
    trial = f"{one_line(shift.eval, width=1000)}/{one_line(shift.subject, width=1000)}/{shift.example}"
    example = f"demeanor trace {shlex.quote(trial)} --run {shlex.quote(shift.example_run)}" if shift.example else ""
    return DigestItem(
        text=f"{_cell(shift.eval, shift.subject)}: {rates} ({a}/{b} → {c}/{d}), {nights}{commits}",
        commands=tuple(filter(None, (example, shift.compare, shift.bisect))),
    )


def _cell(name: str, subject: str) -> str:
    return f"{one_line(name)} · {one_line(subject)}"
