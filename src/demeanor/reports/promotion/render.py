"""Promotions or demotions for the terminal, and the commit message for applied changes."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from rich.text import Text

from demeanor.core.text.percent import rate as percent
from demeanor.core.text.wording import count, one_line
from demeanor.decide.promotion import Candidate, CandidateNight
from demeanor.render import EVAL_MARK, SUBJECT_MARK, Column, Screen, paint, paragraph, sign, table, text_column
from demeanor.reports.gate import error_rates_line
from demeanor.reports.promotion.report import PromotionReport
from demeanor.reports.promotion.workflow import TARGETS, Action

_STYLES = {"promote": "bold green", "demote": "bold red", "wait": "yellow", "keep": "green", "refuse": "red"}
_MARKS = {"eval": EVAL_MARK, "policy": EVAL_MARK}
_MAX_MISSES = 10
_MAX_MISSING = 3
_MAX_NIGHTS = 10
_COMMIT_WIDTH = 72


def promotion_terminal(report: PromotionReport, screen: Screen | None = None) -> str:
    """The report as text for `screen`."""
    screen = screen or Screen()
    return paint(_lines(report, screen), screen)


def _lines(report: PromotionReport, screen: Screen) -> Iterator[Text]:
    target = TARGETS[report.action].value
    evals = count(len(report.candidates), "eval")
    ready = f"{len(report.ready)} of {evals}" if report.ready else f"No eval of {len(report.candidates)}"
    yield from paragraph(f"{ready} to {report.action} to {target}", screen, "bold")
    if report.candidates:
        yield Text()
        yield from table(_columns(report.candidates, screen), screen)
    yield from _section("Evidence", [(one, _evidence(one)) for one in report.ready], screen)
    misses = [one for one in report.candidates if one.answer in {"wait", "refuse"}][:_MAX_MISSES]
    yield from _section("Nearest misses", [(one, _misses(one)) for one in misses], screen)
    yield Text()
    known = f"{count(report.nights, 'night')} in the history" if report.nights else "the history has no night yet"
    for text in (known, *(f"note: {note}" for note in report.notes)):
        yield from paragraph(text, screen, "dim")
    yield from paragraph(error_rates_line(report.characteristics), screen, "dim")
    if report.flapping:
        often = ", ".join(f"{one.a_year:.2g} times at {percent(one.rate)}" for one in report.flapping)
        rules = f"{report.flapping[0].promotion} and {report.flapping[0].demotion}"
        yield from paragraph(f"promoted and demoted again by {rules}, in a year: {often}", screen, "dim")
    if report.ready:
        yield Text(screen.safe(f"next: {report.command} --apply"), "cyan")


def _columns(found: Sequence[Candidate], screen: Screen) -> Iterator[Column]:
    yield Column(title="", cells=[Text(one.answer, _STYLES[one.answer]) for one in found])
    yield text_column("eval", [one_line(one.eval, width=300) for one in found], screen, comfort=24, least=8)
    yield Column(title="nights", cells=[_nights(one.nights, screen) for one in found])
    scores = [(one.counts or {}).values() for one in found]
    passed = [f"{sum(p for p, _ in score)}/{sum(n for _, n in score)}" for score in scores]
    yield text_column("passed", passed, screen, align="right")
    yield text_column("subjects", [str(len(one.counts or {})) for one in found], screen, align="right", rank=1)
    if any(one.distance for one in found):
        to_go = [f"{count(one.distance, 'night')} to go" if one.distance else "" for one in found]
        yield text_column("", to_go, screen, rank=2)


def _nights(nights: Sequence[CandidateNight], screen: Screen) -> Text:
    return (
        Text.assemble(*(sign(_state(night), screen) for night in nights[-_MAX_NIGHTS:]))
        if nights
        else Text("none", "dim")
    )


def _state(night: CandidateNight) -> str:
    states = set(night.states.values())
    if "fail" in states:
        return "fail"
    if night.perfect:
        return "pass"
    return "missing" if "before" in states or not states else "void"


def _section(heading: str, parts: Sequence[tuple[Candidate, list[str]]], screen: Screen) -> Iterator[Text]:
    if not parts:
        return
    yield Text()
    yield Text(heading, "bold")
    for one, sentences in parts:
        yield from paragraph(one_line(one.eval, width=300), screen, "bold")
        for sentence in sentences:
            yield from paragraph(one_line(sentence, width=400), screen, indent=4)


def _evidence(one: Candidate) -> list[str]:
    sentences = [f"{one.rule}: {one.reason}", *one.missing[:_MAX_MISSING]]
    sentences += [f"{subject}: {p} of {n} passed" for subject, (p, n) in (one.counts or {}).items()]
    sentences += [_trials(one)] if one.trials else []
    sentences += [
        f"{_MARKS.get(change.part, SUBJECT_MARK)} {change.part} changed in {change.run} ({change.subject})"
        for change in one.changes[:_MAX_MISSING]
    ]
    sentences += [f"together with {', '.join(one.shared)}: they have one policy argument"] if one.shared else []
    return sentences + ([error_rates_line(one.error_rates)] if one.error_rates else [])


def _trials(one: Candidate) -> str:
    """How many trials in which commits are the evidence."""
    total = sum(judged for _, judged in (one.counts or {}).values())
    commits = [commit[:12] for commit in one.commits]
    places = (
        f"commit {commits[0]}"
        if len(commits) == 1
        else f"{count(len(commits), 'commit')}, {commits[0]} to {commits[-1]}"
    )
    where = f", {places}" if commits else ", outside a repository"
    branches = f" on {', '.join(one.branches)}" if one.branches else ""
    return f"{count(total, 'trial')}, at least {one.trials} per night and subject{where}{branches}"


def _misses(one: Candidate) -> list[str]:
    left = len(one.missing) - _MAX_MISSING
    return [*one.missing[:_MAX_MISSING], *([f"and {left} more"] if left > 0 else [])]


def commit_message(action: Action, applied: Sequence[Candidate], verified: Mapping[str, str]) -> str:
    """The commit message for applied changes, with the evidence."""
    target = TARGETS[action].value
    what = f"eval {one_line(applied[0].eval)}" if len(applied) == 1 else count(len(applied), "eval")
    lines = [f"{action.capitalize()} {what} to {target}"]
    for one in applied:
        lines += ["", one_line(one.eval, width=300)]
        for sentence in [*_evidence(one), *_span(one), *([verified[one.eval]] if one.eval in verified else [])]:
            lines += textwrap.wrap(
                one_line(sentence, width=400),
                _COMMIT_WIDTH,
                initial_indent="- ",
                subsequent_indent="  ",
                break_on_hyphens=False,
            )
    return "\n".join(lines) + "\n"


def _span(one: Candidate) -> list[str]:
    if not one.nights:
        return []
    return [f"nights {one.nights[0].run} to {one.nights[-1].run}"]
