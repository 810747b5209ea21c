"""For each failing eval: why, and the failing trial beside one that passed, step by step."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from demeanor.commands.report import phrases as night_words
from demeanor.commands.report.report import FailingCell, NightReport
from demeanor.commands.trace.trials import TrialSteps, TrialStepsPair
from demeanor.core.text import opening
from demeanor.core.trajectory import Called, Event, Faulted, ModelFailed, Said
from demeanor.core.trajectory_diff import Pair, align, first_divergence
from demeanor.render import numbers as figures
from demeanor.render.html.markup import Markup, el, joined

_MOST_STEPS = 80
_REASON_LINES = 40
_LINES, _WIDTH = 12, 400


def failures_section(report: NightReport, pairs: Sequence[TrialStepsPair]) -> Markup:
    """All failures that are told, each of which opens on a click."""
    if not report.failures:
        return Markup("")
    found = {(pair.eval, pair.subject): pair for pair in pairs}
    parts = [_failure(report, one, found) for one in report.failures]
    more = el("p", night_words.more(report.more_failures)) if report.more_failures else Markup("")
    return el("section", el("h2", "Failed tonight", id="failed"), *parts, more, aria_labelledby="failed")


def voids_section(report: NightReport) -> Markup:
    """Trials that could not be judged."""
    if not report.voids:
        return Markup("")
    parts = [el("details", _summary(report, one), *_ways(one)) for one in report.voids]
    more = el("p", night_words.more(report.more_voids)) if report.more_voids else Markup("")
    heading = el("h2", "Void: tried, but not judged", id="void")
    return el("section", heading, *parts, more, aria_labelledby="void")


def _failure(report: NightReport, one: FailingCell, found: Mapping[tuple[str, str], TrialStepsPair]) -> Markup:
    pair = found.get((one.eval, one.subject))
    steps = _steps(pair) if pair else el("p", "No steps were asked for.")
    commands = el("pre", "\n".join(night_words.commands(report, one)))
    return el("details", _summary(report, one), *_ways(one), steps, el("h3", "To see more"), commands)


def _summary(report: NightReport, one: FailingCell) -> Markup:
    now = report.row(one.eval, one.subject).tonight
    told = f": {now.passed} of {now.judged} passed" + (f", {now.voided} void" if now.voided else "")
    return el("summary", el("code", one.eval), " · ", el("code", one.subject), told)


def _ways(one: FailingCell) -> Iterator[Markup]:
    for way in one.ways:
        yield el("h3", figures.trials(list(way.trials)).capitalize())
        yield el("pre", opening(way.reason, lines=_REASON_LINES))


def _steps(pair: TrialStepsPair) -> Markup:
    """Both trials in one table; what is not at hand is said."""
    failing, passing = pair.failing, pair.passing
    notes = [el("p", note) for note in _absences(failing, passing)]
    pairs = align(_events(failing), _events(passing))
    if not pairs:
        return joined(el("h3", "Step by step"), *notes)
    parting = first_divergence(pairs) if _events(failing) and _events(passing) else None
    head = [el("th", "Step", scope="col", class_="n"), el("th", _title("Failed", failing), scope="col")]
    head.append(el("th", _title("Passed", passing), scope="col"))
    rows = [_row(index, one, parting) for index, one in enumerate(pairs[:_MOST_STEPS])]
    left = len(pairs) - _MOST_STEPS
    notes += [el("p", f"… and {left} more steps")] if left > 0 else []
    caption = el("caption", "The failing trial and the nearest that passed; steps in which they differ are marked ≠")
    table = el("table", caption, el("thead", el("tr", *head)), el("tbody", *rows), class_="steps")
    return joined(el("h3", "Step by step"), *notes, table)


def _events(story: TrialSteps | None) -> Sequence[Event]:
    return story.events or () if story else ()


def _title(word: str, story: TrialSteps | None) -> str:
    return f"{word}: trial {story.record.number} of run {story.run}" if story else f"{word}: no such trial"


def _absences(failing: TrialSteps | None, passing: TrialSteps | None) -> Iterator[str]:
    for word, story in (("failing", failing), ("passing", passing)):
        if story is None:
            yield f"There is no {word} trial of it in the shown nights, so nothing to hold the other against."
        elif story.events is None:
            yield f"The steps of the {word} trial are not at hand: {story.absence}."
        elif not story.events:
            yield f"The {word} trial took no step that was seen."


def _row(index: int, pair: Pair, parting: int | None) -> Markup:
    kind = "" if pair.same else "part other" if index == parting else "other"
    mark = f"{index + 1}" if pair.same else f"{index + 1} ≠"
    return el("tr", el("td", mark, class_="n"), _step(pair.left), _step(pair.right), class_=kind or None)


def _step(event: Event | None) -> Markup:
    if event is None:
        return el("td", "nothing", class_="nothing")
    return el("td", opening(_told(event), lines=_LINES, width=_WIDTH))


def _told(event: Event) -> str:
    match event:
        case Called():
            values = (
                f"{name}={value if isinstance(value, str) else json.dumps(value, default=str)}"
                for name, value in event.arguments.items()
            )
            word = {True: "ok", False: "failed", None: "no word"}[event.succeeded]
            answer = f"\n⤷ {event.result}" if event.result else ""
            return f"{event.tool} → {word}\n" + ("\n".join(values) or event.raw) + answer
        case Said():
            return f"said: {event.text}"
        case ModelFailed():
            return f"the model failed: {event.reason} {event.status or ''}"
        case Faulted():
            return f"fault injected: {event.detail}"
    return event.type
