"""One eval over time for a person in front of a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from demeanor.commands.history.report import EvalHistory, PastCell, Segment, SubjectHistory
from demeanor.commands.report import phrases as night_words
from demeanor.commands.report.sparkline import sparkline
from demeanor.commands.run.phrases import POLICIES
from demeanor.core.run_diff import ChangePoint
from demeanor.core.text import count, one_line
from demeanor.render import numbers as figures
from demeanor.render.table import wrapped
from demeanor.render.terminal import Screen, paint

_WARM_UP = "there are fewer than seven nights since the eval or its rate last changed: too few to watch from"


def course_terminal(found: EvalHistory, screen: Screen | None = None) -> str:
    """The whole of it as text for `screen`."""
    screen = screen or Screen()
    return paint(_lines(found, screen), screen)


def _lines(found: EvalHistory, screen: Screen) -> Iterator[Text]:
    runs = "all runs" if found.kind == "all" else f"{found.kind} runs"
    yield Text.assemble((screen.safe(one_line(found.eval, width=300)), "bold"), (f"  {runs}", "dim"))
    for one in found.subjects:
        yield Text()
        yield from _subject(one, screen)


def _subject(one: SubjectHistory, screen: Screen) -> Iterator[Text]:
    judged = sum(past.cell.judged > 0 for past in one.past)
    told = f"  {POLICIES[one.policy]}, {count(len(one.past), 'run')}, {judged} with data"
    yield from wrapped(Text.assemble((screen.safe(one_line(one.subject)), "bold"), (told, "dim")), screen.width)
    yield from _bars(one.past, screen)
    days = {past.run: night_words.when(past.started) for past in one.past}
    for stretch in one.stretches:
        yield from _told(_stretch(stretch, days), screen)
    if not one.course.points and one.course.assumed_rate is not None:
        yield from _told("no change of the rate was found", screen)
    for point in one.course.points:
        yield from _told(_point(point, days), screen, "bold red" if point.direction == "fall" else "bold green")
        for cause in point.causes:
            yield from _told(f"  then: {night_words.PARTS[cause.part]} {cause.before} → {cause.after}", screen)
    for change in one.course.changes:
        mark = night_words.mark_of(change.part)
        values = f"{one_line(change.before, width=40)} → {one_line(change.after, width=40)}"
        yield from _told(f"{mark} {days[change.run]}  {night_words.PARTS[change.part]} {values}", screen, "dim")
    yield from _told(_false_alarms(one), screen, "dim")


def _bars(past: Sequence[PastCell], screen: Screen) -> Iterator[Text]:
    """As many nights to a line as fit, each line with the day of its first."""
    room = screen.width - 14
    line: list[PastCell] = []
    used = 0
    for one in (*past, None):
        wide = 0 if one is None else 1 + len(one.cell.marks) + one.cell.mixed
        if line and (one is None or used + wide > room):
            shown = sparkline([each.cell for each in line], screen)
            yield Text.assemble((f"  {line[0].started[:10]}  ", "dim"), shown)
            line, used = [], 0
        if one is not None:
            line.append(one)
            used += wide


def _stretch(found: Segment, days: dict[str, str]) -> str:
    rate = f"{figures.rate(found.rate)}, {found.passed} of {found.judged}" if found.rate else "no data"
    mark = {None: "from", "eval": f"{night_words.EVAL_MARK} from", "subject": f"{night_words.SUBJECT_MARK} from"}
    return f"{mark[found.mark]} {days[found.first]} on: {rate} in {count(found.runs, 'run')}"


def _point(point: ChangePoint, days: dict[str, str]) -> str:
    word, sign = ("fell", "▼") if point.direction == "fall" else ("rose", "▲")
    before, after = (
        f"{figures.percent(passed / judged)} ({passed} of {judged})" for passed, judged in (point.before, point.after)
    )
    noticed = "" if point.noticed == point.began else f", noticed {days[point.noticed]}"
    return f"{sign} {word} {days[point.began]} (run {point.began}){noticed}: {before} → {after}"


def _false_alarms(one: SubjectHistory) -> str:
    nights = f"{one.course.nights_between_false_alarms:g}"
    stated = f"a fall that is none is seen once in about {nights} nights, and so is a rise (CUSUM"
    if one.course.assumed_rate is not None:
        return f"{stated}, normal rate {figures.percent(one.course.assumed_rate)})"
    return f"{stated}); {_WARM_UP}" if one.course.points else _WARM_UP


def _told(text: str, screen: Screen, style: str = "") -> Iterator[Text]:
    first, *more = wrapped(Text(screen.safe(text), style), screen.width - 2, indent=2)
    yield first
    yield from (Text.assemble("  ", line) for line in more)
