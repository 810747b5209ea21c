"""A bisection for the terminal: a progress line after each tested commit, and the report at the end."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import fsum

from rich.text import Text

from demeanor.core.text.percent import share
from demeanor.core.text.wording import count, one_line
from demeanor.core.values.evidence import Spent
from demeanor.plugins.lab.bisect.report import BisectOutcome, BisectReport, CommitFound, RateFound
from demeanor.render import Column, Screen, labelled, money, paint, paragraph, percent, table, text_column

_BARS = " ▁▂▃▄▅▆▇█"
_PLAIN_BARS = " .:-=+*#@"
_MAX_BARS = 64
_MAX_COMMITS = 12
_STYLES = {BisectOutcome.FOUND: "bold green", BisectOutcome.NO_DIFFERENCE: "bold red"}


def chances_line(chances: Sequence[float], screen: Screen) -> str:
    """`[   ▁▇█▂   ]`: the probability of each commit, oldest first; one bar stands for several if there are many."""
    bars = _PLAIN_BARS if screen.ascii else _BARS
    width = min(_MAX_BARS, max(10, screen.width // 3), len(chances))
    edges = [round(index * len(chances) / width) for index in range(width + 1)]
    sums = [fsum(chances[low:high]) for low, high in pairwise(edges)]
    top = max(*sums, 1e-12) if len(sums) > 1 else max(sums[0], 1e-12)
    # Only a probability near zero is blank.
    shown = [0 if value < 0.001 else max(1, round(value / top * (len(bars) - 1))) for value in sums]
    return f"[{''.join(bars[height] for height in shown)}]"


def progress_line(
    chances: Sequence[float], visited: CommitFound, likeliest: CommitFound, trials: int, screen: Screen
) -> str:
    """The state of the search after a commit was tested."""
    tried = f"{visited.commit.hash[:8]} {visited.passed}/{visited.passed + visited.failed} passed"
    best = f"most likely {likeliest.commit.hash[:8]} {share(likeliest.chance)}"
    return screen.safe(f"{chances_line(chances[1:], screen)} {count(trials, 'trial')} · {tried} · {best}")


def bisect_terminal(report: BisectReport, screen: Screen | None = None) -> str:
    """The report as text for `screen`."""
    screen = screen or Screen()
    return paint(_lines(report, screen), screen)


def _lines(report: BisectReport, screen: Screen) -> Iterator[Text]:
    yield from paragraph(headline(report), screen, _STYLES.get(report.outcome, "bold yellow"))
    for label, text in _facts(report):
        yield from labelled(f"{label:<8}", text, screen)
    if report.outcome is not BisectOutcome.NO_DIFFERENCE:
        yield Text()
        yield Text(screen.safe(chances_line([commit.chance for commit in report.commits[1:]], screen)))
    yield Text()
    yield from table(_columns(_shown(report), screen), screen)
    yield Text()
    for advice in _advice(report):
        yield from paragraph(f"→ {advice}", screen)
    for command in _commands(report):
        yield Text(screen.safe(f"→ {command}"))  # whole, so that it can be copied
    for note in dict.fromkeys(report.notes):
        yield from labelled("note    ", one_line(note, width=400), screen)


def headline(report: BisectReport) -> str:
    """The result in one sentence."""
    if report.outcome is BisectOutcome.NO_DIFFERENCE:
        good, bad = report.good_end, report.bad_end
        return f"Good and bad do not differ (probability {share(report.no_difference)}): {_ends(good, bad)}"
    names = " or ".join(suspect.commit.hash[:12] for suspect in report.suspects[:3])
    names += f" … ({count(len(report.suspects), 'commit')})" if len(report.suspects) > 3 else ""
    if report.outcome is BisectOutcome.FOUND:
        return f"Found: {names} changed {one_line(report.eval)} (probability {share(report.confidence)})"
    if report.no_difference > report.confidence:
        return (
            f"Undecided: probably good and bad do not differ ({share(report.no_difference)}); no commit is more likely"
        )
    return f"Undecided: {names} is the most likely commit, at only {share(report.confidence)}"


def _ends(good: CommitFound, bad: CommitFound) -> str:
    return (
        f"{good.passed} of {good.passed + good.failed} passed at the good end, "
        f"{bad.passed} of {bad.passed + bad.failed} at the bad end"
    )


def _facts(report: BisectReport) -> Iterator[tuple[str, str]]:
    if report.outcome is not BisectOutcome.NO_DIFFERENCE:
        for suspect in report.suspects[:3]:
            yield "commit", f"{suspect.commit.hash[:12]} {one_line(suspect.commit.subject)}"
            yield "author", f"{one_line(suspect.commit.author)}, {suspect.commit.date[:10]}"
            if suspect.commit.merge:
                yield "", "a merge commit: bisect the merged branch to find the commit"
        yield "before", _rate(report.before)
        yield "after", _rate(report.after)
    if report.outcome is BisectOutcome.UNDECIDED:
        among, confidence = count(len(report.credible), "commit"), share(report.asked_confidence)
        yield "among", f"one of {among}, if anything changed (probability {confidence})"
        yield "", f"probability that good and bad do not differ: {share(report.no_difference)}"
    voids = f", {count(report.voided, 'void')}" if report.voided else ""
    reused = f", {report.reused} reused" if report.reused else ""
    cost = money(Spent(cost_usd=report.cost_usd))
    yield "spent", f"{count(report.trials, 'trial')}{voids}{reused}; {count(report.built, 'build')}; cost {cost}"


def _rate(location: RateFound) -> str:
    if location.low is None or location.high is None:
        return "not tested"
    interval = f"95 % interval {percent(location.low)} to {percent(location.high)}"
    return f"{location.passed} of {location.judged} passed, {percent(location.passed / location.judged)} ({interval})"


def _shown(report: BisectReport) -> list[CommitFound]:
    """The ends, the suspects, and the most likely of the tested and skipped commits, in order."""
    places = range(len(report.commits))
    ends = {0, len(report.commits) - 1}
    tried = [p for p in places if report.commits[p].passed + report.commits[p].failed or report.commits[p].skipped]
    ranked = sorted(tried, key=lambda place: (place not in ends, -report.commits[place].chance))[:_MAX_COMMITS]
    places_shown = {*ends, *ranked, *(p for p in places if report.commits[p] in report.suspects[:3])}
    return [report.commits[place] for place in sorted(places_shown)]


def _columns(shown: list[CommitFound], screen: Screen) -> Iterator[Column]:
    scores = [f"{row.passed}/{row.passed + row.failed}" if row.passed + row.failed else "–" for row in shown]
    yield text_column("commit", [row.commit.hash[:12] for row in shown], screen)
    yield text_column("passed", scores, screen, align="right")
    yield text_column("chance", [share(row.chance) for row in shown], screen, align="right")
    subjects = [f"skipped: {one_line(row.skipped)}" if row.skipped else one_line(row.commit.subject) for row in shown]
    yield text_column("", subjects, screen, comfort=30, least=10)


def _advice(report: BisectReport) -> Iterator[str]:
    """What to do if no commit was found."""
    if report.outcome is BisectOutcome.NO_DIFFERENCE:
        good, bad = report.good_end, report.bad_end
        if bad.passed * (good.passed + good.failed) > good.passed * (bad.passed + bad.failed):
            yield "the bad end passes more often: did you swap --good and --bad?"
        elif good.passed < good.failed:
            yield "the good end fails too: choose an older commit for --good"
        else:
            yield "the cause may be outside of the repository: a model, a provider or a tool on this machine"
    elif report.outcome is BisectOutcome.UNDECIDED:
        yield "run it again to continue: it reuses the trials so far"


def _commands(report: BisectReport) -> Iterator[str]:
    """What to look at if a commit was found."""
    if report.outcome is not BisectOutcome.FOUND:
        return
    culprit = report.suspects[-1]
    yield f"git show {culprit.commit.hash[:12]}"
    before = [
        commit for commit in report.commits[: report.commits.index(report.suspects[0])] if commit.run and commit.passed
    ]
    after = [commit for commit in report.commits[report.commits.index(culprit) :] if commit.run and commit.failed]
    if before and after:
        yield f"demeanor trace {shlex.quote(report.eval)} --run {after[0].run} --against {before[-1].run}"
