"""Candidates for promotion or demotion, for people and programs; and the commit message for what was applied."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from demeanor.commands.gate import phrases as gate_words
from demeanor.commands.promote.report import PromotionReport
from demeanor.commands.promote.values import Candidate, Night
from demeanor.core.policy import Policy
from demeanor.core.text import count, one_line
from demeanor.render.marks import sign
from demeanor.render.table import Column, table, wrapped
from demeanor.render.terminal import Screen, paint

TARGETS = {"promote": Policy.ALWAYS_PASSES, "demote": Policy.USUALLY_PASSES}
"""What each action makes of a policy."""

_STYLES = {"promote": "bold green", "demote": "bold red", "wait": "yellow", "keep": "green", "refuse": "red"}
_MOST_MISSES = 10
_MOST_MISSING = 3
_NIGHTS = 10


def promotion_terminal(report: PromotionReport, screen: Screen | None = None) -> str:
    """The report as text for `screen`."""
    screen = screen or Screen()
    return paint(_lines(report, screen), screen)


def _lines(report: PromotionReport, screen: Screen) -> Iterator[Text]:
    target = TARGETS[report.action].value
    asked = count(len(report.candidates), "eval")
    ripe = "none" if not report.ripe else str(len(report.ripe))
    yield from wrapped(Text(f"{ripe} of {asked} to {report.action} to {target}", "bold"), screen.width)
    if report.candidates:
        yield Text()
        yield from table(list(_columns(report.candidates, screen)), screen.width, ellipsis=screen.safe("…"))
    yield from _told("Evidence", [(one, _evidence(one)) for one in report.ripe], screen)
    misses = [one for one in report.candidates if one.answer in {"wait", "refuse"}][:_MOST_MISSES]
    yield from _told("Nearest misses", [(one, _misses(one)) for one in misses], screen)
    yield Text()
    known = f"{count(report.nights, 'night')} in the history" if report.nights else "the history holds no night yet"
    yield from wrapped(Text(screen.safe(known), "dim"), screen.width)
    yield from wrapped(Text(screen.safe(gate_words.error_rates(report.characteristics)), "dim"), screen.width)
    yield from wrapped(Text(screen.safe(f"for {report.characteristics.setting}"), "dim"), screen.width, indent=2)
    if report.ripe:
        yield Text(screen.safe(f"next: demeanor {report.action} --apply"), "cyan")


def _columns(found: Sequence[Candidate], screen: Screen) -> Iterator[Column]:
    yield Column(title="", cells=[Text(one.answer, _STYLES[one.answer]) for one in found])
    names = [Text(screen.safe(one_line(one.eval, width=300))) for one in found]
    yield Column(title="eval", cells=names, comfort=24, least=8)
    yield Column(title="nights", cells=[_nights(one.nights, screen) for one in found])
    scores = [(one.counts or {}).values() for one in found]
    passed = [f"{sum(p for p, _ in score)}/{sum(n for _, n in score)}" for score in scores]
    yield Column(title="passed", cells=[Text(text) for text in passed], align="right")
    subjects = [Text(str(len(one.counts or {}))) for one in found]
    yield Column(title="subjects", cells=subjects, align="right", rank=1)
    if any(one.distance for one in found):
        to_go = [Text(f"{count(one.distance, 'night')} to go" if one.distance else "") for one in found]
        yield Column(title="", cells=to_go, rank=2)


def _nights(nights: Sequence[Night], screen: Screen) -> Text:
    return (
        Text.assemble(*(sign(_state(night), screen) for night in nights[-_NIGHTS:])) if nights else Text("none", "dim")
    )


def _state(night: Night) -> str:
    states = set(night.states.values())
    if "fail" in states:
        return "fail"
    if night.perfect:
        return "pass"
    return "missing" if "before" in states or not states else "void"


def _told(heading: str, parts: Sequence[tuple[Candidate, list[str]]], screen: Screen) -> Iterator[Text]:
    if not parts:
        return
    yield Text()
    yield Text(heading, "bold")
    for one, sentences in parts:
        yield from wrapped(Text(screen.safe(one_line(one.eval, width=300)), "bold"), screen.width)
        for sentence in sentences:
            yield from wrapped(Text(screen.safe(one_line(sentence, width=400))), screen.width, indent=4)


def _evidence(one: Candidate) -> list[str]:
    said = [f"{one.rule}: {one.reason}", *one.missing[:_MOST_MISSING]]
    said += [f"{subject}: {p} of {n} passed" for subject, (p, n) in (one.counts or {}).items()]
    return said + [
        f"{change.part} changed in {change.run} ({change.subject})" for change in one.changes[:_MOST_MISSING]
    ]


def _misses(one: Candidate) -> list[str]:
    left = len(one.missing) - _MOST_MISSING
    return [*one.missing[:_MOST_MISSING], *([f"and {left} more"] if left > 0 else [])]


def commit_message(action: str, applied: Sequence[Candidate], verified: Mapping[str, str], *, width: int = 72) -> str:
    """The message for what was applied, with the evidence."""
    target = TARGETS[action].value
    what = f"eval {one_line(applied[0].eval)}" if len(applied) == 1 else count(len(applied), "eval")
    lines = [f"{action.capitalize()} {what} to {target}"]
    for one in applied:
        lines += ["", one_line(one.eval, width=300)]
        for sentence in [*_evidence(one), *_span(one), *([verified[one.eval]] if one.eval in verified else [])]:
            lines += textwrap.wrap(
                one_line(sentence, width=400),
                width,
                initial_indent="- ",
                subsequent_indent="  ",
                break_on_hyphens=False,
            )
    return "\n".join(lines) + "\n"


def _span(one: Candidate) -> list[str]:
    if not one.nights:
        return []
    return [f"nights {one.nights[0].run} to {one.nights[-1].run}"]
