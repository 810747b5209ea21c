"""A bisection for a person in front of a terminal: a line after each visit, and what was found at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from rich.text import Text

from demeanor.commands.bisect.report import BisectReport
from demeanor.commands.bisect.values import BisectOutcome, CommitFound, RateFound
from demeanor.core.evidence import Spent
from demeanor.core.percent import share
from demeanor.core.text import count, one_line
from demeanor.render.numbers import money, percent
from demeanor.render.table import Column, table, wrapped
from demeanor.render.terminal import Screen, paint

_BARS = " ▁▂▃▄▅▆▇█"
_PLAIN_BARS = " .:-=+*#@"
_WIDEST = 64
_MOST = 12
_STYLES = {BisectOutcome.FOUND: "bold green", BisectOutcome.NO_DIFFERENCE: "bold red"}


def chances_line(chances: Sequence[float], screen: Screen) -> str:
    """`[   ▁▇█▂   ]`: how likely each commit is the change, the oldest first; several to a bar where there are many."""
    bars = _PLAIN_BARS if screen.ascii else _BARS
    room = min(_WIDEST, max(10, screen.width // 3), len(chances))
    edges = [round(place * len(chances) / room) for place in range(room + 1)]
    sums = [sum(chances[low:high]) for low, high in pairwise(edges)]
    top = max(*sums, 1e-12) if len(sums) > 1 else max(sums[0], 1e-12)
    # What is not nought is shown, and only what is next to nought is blank.
    shown = [0 if value < 0.001 else max(1, round(value / top * (len(bars) - 1))) for value in sums]
    return f"[{''.join(bars[height] for height in shown)}]"


def progress_line(
    chances: Sequence[float], visited: CommitFound, likeliest: CommitFound, trials: int, screen: Screen
) -> str:
    """Where the search stands after a visit."""
    tried = f"{visited.commit.hash[:8]} {visited.passed}/{visited.passed + visited.failed} passed"
    best = f"likeliest {likeliest.commit.hash[:8]} {share(likeliest.chance)}"
    return screen.safe(f"{chances_line(chances[1:], screen)} {count(trials, 'trial')} · {tried} · {best}")


def bisect_terminal(report: BisectReport, screen: Screen | None = None) -> str:
    """What was found, as text for `screen`."""
    screen = screen or Screen()
    return paint(_lines(report, screen), screen)


def _lines(report: BisectReport, screen: Screen) -> Iterator[Text]:
    yield from wrapped(Text(screen.safe(headline(report)), _STYLES.get(report.outcome, "bold yellow")), screen.width)
    for label, text in _facts(report):
        yield from _labelled(label, text, screen)
    if report.outcome is not BisectOutcome.NO_DIFFERENCE:
        yield Text()
        yield Text(screen.safe(chances_line([one.chance for one in report.commits[1:]], screen)))
    yield Text()
    yield from table(list(_columns(_shown(report), screen)), screen.width, ellipsis=screen.safe("…"))
    yield Text()
    for advice in _advice(report):
        yield from wrapped(Text(screen.safe(f"→ {advice}")), screen.width)
    for command in _commands(report):
        yield Text(screen.safe(f"→ {command}"))  # whole, so that it can be copied
    for note in dict.fromkeys(report.notes):
        yield from _labelled("note", one_line(note, width=400), screen)


def headline(report: BisectReport) -> str:
    """What was found, in one sentence."""
    if report.outcome is BisectOutcome.NO_DIFFERENCE:
        good, bad = report.good_end, report.bad_end
        return f"Good and bad do not differ ({share(report.no_difference)} sure): {_ends(good, bad)}"
    names = " or ".join(one.commit.hash[:12] for one in report.suspects[:3])
    names += f" … ({count(len(report.suspects), 'commit')})" if len(report.suspects) > 3 else ""
    if report.outcome is BisectOutcome.FOUND:
        return f"Found: {names} changed {one_line(report.eval)} ({share(report.confidence)} sure)"
    if report.no_difference > report.confidence:
        return (
            f"Undecided: that good and bad do not differ is {share(report.no_difference)} sure, and no commit is more"
        )
    return f"Undecided: {names} is the likeliest, but only {share(report.confidence)} sure"


def _ends(good: CommitFound, bad: CommitFound) -> str:
    told = f"{good.passed} of {good.passed + good.failed} passed at the good end, "
    return told + f"{bad.passed} of {bad.passed + bad.failed} at the bad one"


def _facts(report: BisectReport) -> Iterator[tuple[str, str]]:
    if report.outcome is not BisectOutcome.NO_DIFFERENCE:
        for one in report.suspects[:3]:
            yield "commit", f"{one.commit.hash[:12]} {one_line(one.commit.subject)}"
            yield "author", f"{one_line(one.commit.author)}, {one.commit.date[:10]}"
            if one.commit.merge:
                yield "", "a merge: what it brought in can be bisected by its own branch"
        yield "before", _rate(report.before)
        yield "after", _rate(report.after)
    if report.outcome is BisectOutcome.UNDECIDED:
        among, wanted = count(len(report.credible), "commit"), share(report.asked_confidence)
        yield "among", f"if anything changed, it was one of {among} ({wanted} sure)"
        yield "", f"that good and bad do not differ: {share(report.no_difference)} sure"
    voids = f", {count(report.voided, 'void')}" if report.voided else ""
    reused = f", {report.reused} kept before" if report.reused else ""
    cost = money(Spent(cost_usd=report.cost_usd))
    yield "spent", f"{count(report.trials, 'trial')}{voids}{reused}; {count(report.built, 'build')}; cost {cost}"


def _rate(found: RateFound) -> str:
    if found.low is None or found.high is None:
        return "not tried"
    interval = f"95 % interval {percent(found.low)} to {percent(found.high)}"
    return f"{found.passed} of {found.judged} passed, {percent(found.passed / found.judged)} ({interval})"


def _shown(report: BisectReport) -> list[CommitFound]:
    """Those that were tried or skipped, and the likeliest, in their order; not too many of them."""
    places = range(len(report.commits))
    ends = {0, len(report.commits) - 1}
    known = [p for p in places if report.commits[p].passed + report.commits[p].failed or report.commits[p].skipped]
    ranked = sorted(known, key=lambda place: (place not in ends, -report.commits[place].chance))[:_MOST]
    wanted = {*ends, *ranked, *(p for p in places if report.commits[p] in report.suspects[:3])}
    return [report.commits[place] for place in sorted(wanted)]


def _columns(shown: list[CommitFound], screen: Screen) -> Iterator[Column]:
    def texts(cells: list[str]) -> list[Text]:
        return [Text(screen.safe(cell)) for cell in cells]

    scores = [f"{one.passed}/{one.passed + one.failed}" if one.passed + one.failed else "–" for one in shown]
    yield Column(title="commit", cells=texts([one.commit.hash[:12] for one in shown]))
    yield Column(title="passed", cells=texts(scores), align="right")
    yield Column(title="chance", cells=texts([share(one.chance) for one in shown]), align="right")
    told = [f"skipped: {one_line(one.skipped)}" if one.skipped else one_line(one.commit.subject) for one in shown]
    yield Column(title="", cells=texts(told), comfort=30, least=10)


def _advice(report: BisectReport) -> Iterator[str]:
    """What to do where nothing was found."""
    if report.outcome is BisectOutcome.NO_DIFFERENCE:
        good, bad = report.good_end, report.bad_end
        if bad.passed * (good.passed + good.failed) > good.passed * (bad.passed + bad.failed):
            yield "the bad end passes more often: are they the wrong way round?"
        elif good.passed < good.failed:
            yield "the good end fails too: name an older commit with --good"
        else:
            yield "what changed may lie outside of the repository: a model, a provider, a tool on the machine"
    elif report.outcome is BisectOutcome.UNDECIDED:
        yield "start it again to go on: trials that were made are kept and count"


def _commands(report: BisectReport) -> Iterator[str]:
    """What to look at where something was found."""
    if report.outcome is not BisectOutcome.FOUND:
        return
    culprit = report.suspects[-1]
    yield f"git show {culprit.commit.hash[:12]}"
    before = [one for one in report.commits[: report.commits.index(report.suspects[0])] if one.run and one.passed]
    after = [one for one in report.commits[report.commits.index(culprit) :] if one.run and one.failed]
    if before and after:
        yield f"demeanor trace {report.eval} --run {after[0].run} --against {before[-1].run}"


def _labelled(label: str, text: str, screen: Screen) -> Iterator[Text]:
    lead = f"{label:<8}"
    for index, line in enumerate(wrapped(Text(screen.safe(text)), screen.width, indent=len(lead))):
        yield Text.assemble((lead, "dim"), line[len(lead) :]) if index == 0 else line
