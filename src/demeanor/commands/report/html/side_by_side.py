"""For each failing eval: the reasons, and a failing trial next to a passing one, step by step."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from demeanor.commands.report import phrases
from demeanor.commands.report.report import FailingCell, NightReport
from demeanor.commands.report.step_pairs import TrialStepsPair
from demeanor.commands.trace.trials import TrialSteps
from demeanor.core.text import opening
from demeanor.core.trajectory import Called, Event, Faulted, ModelFailed, Said
from demeanor.core.trajectory_diff import Pair, align, first_divergence
from demeanor.render import numbers
from demeanor.render.html.markup import Markup, el, joined

_MOST_STEPS = 80
_REASON_LINES = 40
_LINES, _WIDTH = 12, 400


def failures_section(report: NightReport, pairs: Sequence[TrialStepsPair]) -> Markup:
    """All failures; a click shows the details."""
    if not report.failures:
        return Markup("")
    found = {(pair.eval, pair.subject): pair for pair in pairs}
    parts = [_failure(report, one, found) for one in report.failures]
    more = el("p", phrases.more(report.more_failures)) if report.more_failures else Markup("")
    return el("section", el("h2", "Failed tonight", id="failed"), *parts, more, aria_labelledby="failed")


def voids_section(report: NightReport) -> Markup:
    """Void trials."""
    if not report.voids:
        return Markup("")
    parts = [el("details", _summary(report, one), *_ways(one)) for one in report.voids]
    more = el("p", phrases.more(report.more_voids)) if report.more_voids else Markup("")
    heading = el("h2", "Void: run, but not judged", id="void")
    return el("section", heading, *parts, more, aria_labelledby="void")


def _failure(report: NightReport, one: FailingCell, found: Mapping[tuple[str, str], TrialStepsPair]) -> Markup:
    pair = found.get((one.eval, one.subject))
    steps = _steps(pair) if pair else el("p", "The steps are not included.")
    commands = el("pre", "\n".join(phrases.commands(report, one)))
    return el("details", _summary(report, one), *_ways(one), steps, el("h3", "To see more"), commands)


def _summary(report: NightReport, one: FailingCell) -> Markup:
    now = report.row(one.eval, one.subject).tonight
    score = f": {now.passed} of {now.judged} passed" + (f", {now.voided} void" if now.voided else "")
    return el("summary", el("code", one.eval), " · ", el("code", one.subject), score)


def _ways(one: FailingCell) -> Iterator[Markup]:
    for way in one.ways:
        yield el("h3", numbers.trials(list(way.trials)).capitalize())
        yield el("pre", opening(way.reason, lines=_REASON_LINES))


def _steps(pair: TrialStepsPair) -> Markup:
    """Both trials in one table, with a note if one is not available."""
    failing, passing = pair.failing, pair.passing
    notes = [el("p", note) for note in _absences(failing, passing)]
    pairs = align(_events(failing), _events(passing))
    if not pairs:
        return joined(el("h3", "Step by step"), *notes)
    divergence = first_divergence(pairs) if _events(failing) and _events(passing) else None
    head = [el("th", "Step", scope="col", class_="n"), el("th", _title("Failed", failing), scope="col")]
    head.append(el("th", _title("Passed", passing), scope="col"))
    rows = [_row(index, one, divergence) for index, one in enumerate(pairs[:_MOST_STEPS])]
    left = len(pairs) - _MOST_STEPS
    notes += [el("p", f"… and {left} more steps")] if left > 0 else []
    caption = el("caption", "A failing trial and the most similar one that passed; steps that differ are marked ≠")
    table = el("table", caption, el("thead", el("tr", *head)), el("tbody", *rows), class_="steps")
    return joined(el("h3", "Step by step"), *notes, table)


def _events(steps: TrialSteps | None) -> Sequence[Event]:
    return steps.events or () if steps else ()


def _title(word: str, steps: TrialSteps | None) -> str:
    return f"{word}: trial {steps.record.number} of run {steps.run}" if steps else f"{word}: no such trial"


def _absences(failing: TrialSteps | None, passing: TrialSteps | None) -> Iterator[str]:
    for word, steps in (("failing", failing), ("passing", passing)):
        if steps is None:
            yield f"The shown nights have no {word} trial to compare with."
        elif steps.events is None:
            yield f"The steps of the {word} trial are not available: {steps.absence}."
        elif not steps.events:
            yield f"The {word} trial has no recorded steps."


def _row(index: int, pair: Pair, divergence: int | None) -> Markup:
    kind = "" if pair.same else "part other" if index == divergence else "other"
    mark = f"{index + 1}" if pair.same else f"{index + 1} ≠"
    return el("tr", el("td", mark, class_="n"), _step(pair.left), _step(pair.right), class_=kind or None)


def _step(event: Event | None) -> Markup:
    if event is None:
        return el("td", "nothing", class_="nothing")
    return el("td", opening(_text(event), lines=_LINES, width=_WIDTH))


def _text(event: Event) -> str:
    match event:
        case Called():
            values = (
                f"{name}={value if isinstance(value, str) else json.dumps(value, default=str)}"
                for name, value in event.arguments.items()
            )
            word = {True: "ok", False: "failed", None: "no output"}[event.succeeded]
            answer = f"\n⤷ {event.result}" if event.result else ""
            return f"{event.tool} → {word}\n" + ("\n".join(values) or event.raw) + answer
        case Said():
            return f"said: {event.text}"
        case ModelFailed():
            return f"the model failed: {event.reason} {event.status or ''}"
        case Faulted():
            return f"fault injected: {event.detail}"
    return event.type
