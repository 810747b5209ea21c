"""Forks for the terminal: the steps of a trial, the pass rate from one of them, or the curve of a scan."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from rich.text import Text

from demeanor.core.text.percent import share
from demeanor.core.text.wording import count, one_line
from demeanor.core.values.evidence import Spent
from demeanor.plugins.lab.fork.report import DecisiveStep, ForkOutcome, ForkReport, ForkStep
from demeanor.render import Column, Screen, labelled, money, paint, paragraph, percent, table, text_column

_BAR = 10
_NARROW = 60
"""Below this width the curve has no bars."""
_STYLES = {ForkOutcome.FOUND: "bold green", ForkOutcome.MEASURED: "bold", ForkOutcome.NO_DROP: "bold red"}


def steps_text(trial: str, run: str, did: Sequence[str], screen: Screen) -> str:
    """The steps of a trial, at which trials can start."""
    width = max(20, screen.width - 8)
    lines = [trial, "", *(f"{step:>4}  {one_line(text, width=width)}" for step, text in enumerate(did, 1)), ""]
    command = f"→ demeanor fork {shlex.quote(trial)} --run {run}"
    lines += ["start there, or find the decisive step:", f"{command} --at K", f"{command} --scan"]
    return "\n".join(screen.safe(line) for line in lines) + "\n"


def fork_terminal(report: ForkReport, screen: Screen | None = None) -> str:
    """The report as text for `screen`."""
    screen = screen or Screen()
    return paint(_lines(report, screen), screen)


def headline(report: ForkReport) -> str:
    """The result in one sentence."""
    if report.forked is not None:
        return _headline_of_step(report.forked)
    decisive = report.decisive
    if report.outcome is ForkOutcome.NO_DROP:
        return (
            f"No decisive step: the chance of passing was as low at the start"
            f" (probability {share(report.no_drop or 0.0)})"
        )
    if decisive is None:
        return "Undecided: no trial could be judged"
    if report.outcome is ForkOutcome.FOUND:
        return f"Decisive: {_steps(decisive)} (probability {share(decisive.confidence)})"
    return f"Undecided: {_steps(decisive)} is the most likely decisive step, at only {share(decisive.confidence)}"


def _headline_of_step(step: ForkStep) -> str:
    judged = step.passed + step.failed
    if step.low is None or step.high is None:
        return f"Undecided: no trial that starts at step {step.step} could be judged"
    rate = f"{percent(step.passed / judged)} pass (95 % interval {percent(step.low)} to {percent(step.high)})"
    return f"From step {step.step} on, {rate}: {step.passed} of {count(judged, 'trial')}"


def _steps(step: DecisiveStep) -> str:
    return f"step {step.step}" if step.step == step.until else f"one of the steps {step.step} to {step.until}"


def _lines(report: ForkReport, screen: Screen) -> Iterator[Text]:
    yield from paragraph(headline(report), screen, _STYLES.get(report.outcome, "bold yellow"))
    for label, text in _facts(report):
        yield from labelled(f"{label:<8}", text, screen)
    if report.at is None:
        yield Text()
        yield from table(_curve(report, screen), screen)
    yield Text()
    for command in _commands(report):
        yield Text(screen.safe(f"→ {command}"))  # whole, so that it can be copied
    for note in dict.fromkeys(report.notes):
        yield from labelled("note    ", one_line(note, width=400), screen)


def _facts(report: ForkReport) -> Iterator[tuple[str, str]]:
    yield "trial", f"{report.trial} ({report.recorded})"
    if report.forked is not None:
        yield "did", one_line(report.forked.did, width=400)
        if report.forked.why_void:
            yield "void", one_line(report.forked.why_void, width=400)
    if report.decisive is not None and report.outcome is not ForkOutcome.NO_DROP:
        yield from _decisive_facts(report.decisive)
    for change in report.changed:
        yield "changed", change
    voids = f", {count(report.voided, 'void')}" if report.voided else ""
    cost = money(Spent(cost_usd=report.cost_usd))
    yield "spent", f"{count(report.trials, 'trial')}{voids}; cost {cost}"
    if report.asked_confidence is not None:
        yield "error", f"names a wrong step in at most {percent(1 - report.asked_confidence)} of scans"


def _decisive_facts(step: DecisiveStep) -> Iterator[tuple[str, str]]:
    yield "did", one_line(step.did, width=400)
    passing = sum(answer.trials for answer in step.instead)
    for answer in step.instead[:3]:
        share = f"{answer.trials} of {count(passing, 'passing trial')}"
        if answer.did != step.did:
            yield "instead", f"{share}: {one_line(answer.did, width=400)}"
        else:
            doubt = ": this may be a wrong step, scan again with another --seed" if answer.trials == passing else ""
            yield "same", f"{share} did the same there{doubt}"
    yield "before", _score(step.before, "that start there or earlier")
    yield "after", _score(step.after, "that start later")


def _score(counts: tuple[int, int], where: str) -> str:
    passed, judged = counts
    if not judged:
        return f"no trials {where}; the recorded one failed"
    return f"{passed} of {count(judged, 'trial')} {where} passed ({percent(passed / judged)})"


def _curve(report: ForkReport, screen: Screen) -> Iterator[Column]:
    """The pass rate by the step at which trials start."""

    def mark(step: ForkStep) -> str:
        decisive_step = report.decisive
        decisive = (
            decisive_step is not None
            and report.outcome is not ForkOutcome.NO_DROP
            and (decisive_step.step <= step.step <= decisive_step.until)
        )
        return "►" if decisive else ""

    steps = report.steps
    yield text_column("", [mark(step) for step in steps], screen)
    yield text_column("from", [str(step.step) for step in steps], screen, align="right")
    if screen.width >= _NARROW:
        yield text_column("pass rate", [_bar(step, screen) for step in steps], screen)
    yield text_column("passed", [_passed(step) for step in steps], screen, align="right")
    yield text_column("decisive", [share(step.chance or 0.0) for step in steps], screen, align="right")
    yield text_column("what it did", [one_line(step.did) for step in steps], screen, comfort=30, least=10)


def _bar(step: ForkStep, screen: Screen) -> str:
    judged = step.passed + step.failed
    if not judged:
        return "void" if step.voided else ""
    full = round(_BAR * step.passed / judged)
    return ("#" if screen.ascii else "█") * full + ("." if screen.ascii else "░") * (_BAR - full)


def _passed(step: ForkStep) -> str:
    judged = step.passed + step.failed
    return f"{step.passed}/{judged}" if judged else "–"


def _commands(report: ForkReport) -> Iterator[str]:
    """What to look at next."""
    name = report.trial.partition("/")[0]
    if report.forked is not None and report.forked.passed + report.forked.failed:
        yield f"demeanor trace '{name}@{report.at}' --run {report.folder}"
    elif report.outcome is ForkOutcome.FOUND and report.decisive is not None:
        step = report.decisive.step
        yield f"demeanor trace '{name}@{step}' --run {report.folder}"
        yield f"demeanor fork {shlex.quote(report.trial)} --run {report.run} --at {step} --save NAME"
    elif report.outcome is ForkOutcome.NO_DROP:
        yield f"demeanor run --scenario '{name}' --trials 10"
