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
    yield from _section("Evidence", [(candidate, _evidence(candidate)) for candidate in report.ready], screen)
    misses = [candidate for candidate in report.candidates if candidate.answer in {"wait", "refuse"}][:_MAX_MISSES]
    yield from _section("Nearest misses", [(candidate, _misses(candidate)) for candidate in misses], screen)
    yield Text()
    history = f"{count(report.nights, 'night')} in the history" if report.nights else "the history has no night yet"
    for text in (history, *(f"note: {note}" for note in report.notes)):
        yield from paragraph(text, screen, "dim")
    yield from paragraph(error_rates_line(report.characteristics), screen, "dim")
    if report.flapping:
        often = ", ".join(f"{flapping.a_year:.2g} times at {percent(flapping.rate)}" for flapping in report.flapping)
        rules = f"{report.flapping[0].promotion} and {report.flapping[0].demotion}"
        yield from paragraph(f"promoted and demoted again by {rules}, in a year: {often}", screen, "dim")
    if report.ready:
        yield Text(screen.safe(f"next: {report.command} --apply"), "cyan")


def _columns(candidates: Sequence[Candidate], screen: Screen) -> Iterator[Column]:
    yield Column(title="", cells=[Text(candidate.answer, _STYLES[candidate.answer]) for candidate in candidates])
    yield text_column(
        "eval", [one_line(candidate.eval, width=300) for candidate in candidates], screen, comfort=24, least=8
    )
    yield Column(title="nights", cells=[_nights(candidate.nights, screen) for candidate in candidates])
    scores = [(candidate.counts or {}).values() for candidate in candidates]
    passed = [f"{sum(p for p, _ in score)}/{sum(n for _, n in score)}" for score in scores]
    yield text_column("passed", passed, screen, align="right")
    yield text_column(
        "subjects", [str(len(candidate.counts or {})) for candidate in candidates], screen, align="right", rank=1
    )
    if any(candidate.distance for candidate in candidates):
        to_go = [
            f"{count(candidate.distance, 'night')} to go" if candidate.distance else "" for candidate in candidates
        ]
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
    for candidate, sentences in parts:
        yield from paragraph(one_line(candidate.eval, width=300), screen, "bold")
        for sentence in sentences:
            yield from paragraph(one_line(sentence, width=400), screen, indent=4)


def _evidence(candidate: Candidate) -> list[str]:
    sentences = [f"{candidate.rule}: {candidate.reason}", *candidate.missing[:_MAX_MISSING]]
    sentences += [f"{subject}: {p} of {n} passed" for subject, (p, n) in (candidate.counts or {}).items()]
    sentences += [_trials(candidate)] if candidate.trials else []
    sentences += [
        f"{_MARKS.get(change.part, SUBJECT_MARK)} {change.part} changed in {change.run} ({change.subject})"
        for change in candidate.changes[:_MAX_MISSING]
    ]
    sentences += (
        [f"together with {', '.join(candidate.shared)}: they have one policy argument"] if candidate.shared else []
    )
    return sentences + ([error_rates_line(candidate.error_rates)] if candidate.error_rates else [])


def _trials(candidate: Candidate) -> str:
    """How many trials in which commits are the evidence."""
    total = sum(judged for _, judged in (candidate.counts or {}).values())
    commits = [commit[:12] for commit in candidate.commits]
    places = (
        f"commit {commits[0]}"
        if len(commits) == 1
        else f"{count(len(commits), 'commit')}, {commits[0]} to {commits[-1]}"
    )
    where = f", {places}" if commits else ", outside a repository"
    branches = f" on {', '.join(candidate.branches)}" if candidate.branches else ""
    return f"{count(total, 'trial')}, at least {candidate.trials} per night and subject{where}{branches}"


def _misses(candidate: Candidate) -> list[str]:
    left = len(candidate.missing) - _MAX_MISSING
    return [*candidate.missing[:_MAX_MISSING], *([f"and {left} more"] if left > 0 else [])]


def commit_message(action: Action, applied: Sequence[Candidate], verified: Mapping[str, str]) -> str:
    """The commit message for applied changes, with the evidence."""
    target = TARGETS[action].value
    what = f"eval {one_line(applied[0].eval)}" if len(applied) == 1 else count(len(applied), "eval")
    lines = [f"{action.capitalize()} {what} to {target}"]
    for candidate in applied:
        lines += ["", one_line(candidate.eval, width=300)]
        for sentence in [
            *_evidence(candidate),
            *_span(candidate),
            *([verified[candidate.eval]] if candidate.eval in verified else []),
        ]:
            lines += textwrap.wrap(
                one_line(sentence, width=400),
                _COMMIT_WIDTH,
                initial_indent="- ",
                subsequent_indent="  ",
                break_on_hyphens=False,
            )
    return "\n".join(lines) + "\n"


def _span(candidate: Candidate) -> list[str]:
    if not candidate.nights:
        return []
    return [f"nights {candidate.nights[0].run} to {candidate.nights[-1].run}"]
