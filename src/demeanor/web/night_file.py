"""The night report as one HTML file that needs nothing else: no script, no network, nothing beside it.

It is made from the templates of the dashboard. The content security policy allows only the style sheet with this hash.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from demeanor.render import numbers
from demeanor.reports.night import FailingCell, NightReport, TrialStepsPair, phrases
from demeanor.reports.trial import AlignedSteps, step_rows
from demeanor.results import TrialSteps
from demeanor.web.night_view import night_view
from demeanor.web.templating import STYLE, render, static_text

_MOST_SHIFTS = 20


@dataclass(frozen=True, slots=True)
class ReportLinks:
    """A cell leads to its failure further below; no other page exists."""

    anchors: Mapping[tuple[str, str], str]
    """Eval and subject → the id of its failure on the page."""

    served: bool = False
    """There is no server."""

    def page(self, name: str, *parts: object, **query: object) -> str:
        """The failure of a cell, if the page has it."""
        anchor = self.anchors.get((str(parts[1]), str(parts[2]))) if name == "trial" else None
        return f"#{anchor}" if anchor else ""

    def static(self, name: str) -> str:
        """Nothing is loaded."""
        return ""


@dataclass(frozen=True, kw_only=True, slots=True)
class FailureView:
    """A failing or void cell, as the page shows it."""

    id: str
    """Its anchor."""

    cell: FailingCell
    """The cell."""

    score: str
    """`1 of 5 passed, 2 void`."""

    steps: AlignedSteps | None
    """A failing trial beside a passing one; None if there is nothing to show."""

    failing: str
    """The heading of the failing trial."""

    passing: str
    """The heading of the passing trial; empty if there is none."""

    absences: tuple[str, ...]
    """What is not available."""

    commands: tuple[str, ...]
    """Commands that show more."""

    def trials(self, numbers_of: Sequence[int]) -> str:
        """`Trials 1 and 3`."""
        return numbers.trials(list(numbers_of)).capitalize()


def night_html(report: NightReport, pairs: Sequence[TrialStepsPair] = ()) -> str:
    """The report as one HTML file."""
    by_cell = {(pair.eval, pair.subject): pair for pair in pairs}
    failures = [
        _failure(report, failure, f"failure-{number}", by_cell.get((failure.eval, failure.subject)))
        for number, failure in enumerate(report.failures, 1)
    ]
    voids = [_failure(report, void, f"void-{number}", None) for number, void in enumerate(report.voids, 1)]
    anchors = {(void.cell.eval, void.cell.subject): void.id for void in [*voids, *failures]}
    digest = b64encode(sha256(static_text(STYLE).encode()).digest()).decode()
    values: dict[str, Any] = {
        "view": night_view(report, whole=True),
        "failures": failures,
        "voids": voids,
        "more_failures": phrases.more(report.more_failures) if report.more_failures else "",
        "more_voids": phrases.more(report.more_voids) if report.more_voids else "",
        "notes": report.notes,
        "most_shifts": _MOST_SHIFTS,
        "policy": f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
    }
    return render("report.html", ReportLinks(anchors), **values) + "\n"


def _failure(report: NightReport, cell: FailingCell, anchor: str, pair: TrialStepsPair | None) -> FailureView:
    now = report.row(cell.eval, cell.subject).tonight
    failing, passing = (pair.failing, pair.passing) if pair else (None, None)
    shown = failing if failing is not None and failing.events else passing
    return FailureView(
        id=anchor,
        cell=cell,
        score=f"{now.passed} of {now.judged} passed" + (f", {now.voided} void" if now.voided else ""),
        steps=step_rows(failing, passing, ()) if failing is not None and shown is not None and shown.events else None,
        failing=_title("Failed", failing),
        passing=_title("Passed", passing),
        absences=tuple(_absences(failing, passing)) if pair else (),
        commands=tuple(phrases.commands(report, cell)),
    )


def _title(word: str, steps: TrialSteps | None) -> str:
    return f"{word}: trial {steps.record.number} of run {steps.run}" if steps else ""


def _absences(failing: TrialSteps | None, passing: TrialSteps | None) -> list[str]:
    absences = []
    for word, steps in (("failing", failing), ("passing", passing)):
        if steps is None:
            absences.append(f"The shown nights have no {word} trial to compare with.")
        elif steps.events is None:
            absences.append(f"The steps of the {word} trial are not available: {steps.absence}.")
        elif not steps.events:
            absences.append(f"The {word} trial has no recorded steps.")
    return absences
