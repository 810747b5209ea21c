"""The history of one eval for the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from demeanor.core.text.wording import count, one_line
from demeanor.core.values.fingerprints import files_unknown, unknown_files_note
from demeanor.core.values.run_diff import ChangePoint
from demeanor.render import Screen, hanging, numbers, paint, wrapped
from demeanor.reports.eval_history.report import EvalHistory, PastCell, Segment, SubjectHistory
from demeanor.reports.night import phrases, sparkline
from demeanor.reports.run import LAYERS, POLICIES

_NOT_ENOUGH = "not enough nights yet to detect a change"


def history_terminal(history: EvalHistory, screen: Screen | None = None) -> str:
    """The history as text for `screen`."""
    screen = screen or Screen()
    return paint(_lines(history, screen), screen)


def _lines(history: EvalHistory, screen: Screen) -> Iterator[Text]:
    runs = "all runs" if history.kind == "all" else f"{history.kind} runs"
    layer = f", layer {history.layer}: {LAYERS[history.layer]}" if history.layer == 3 else ""
    yield Text.assemble((screen.safe(one_line(history.eval, width=300)), "bold"), (f"  {runs}{layer}", "dim"))
    for subject in history.subjects:
        yield Text()
        yield from _subject(subject, screen)
    for note in history.alike.notes:
        yield from _paragraph(note, screen, "dim")


def _subject(history: SubjectHistory, screen: Screen) -> Iterator[Text]:
    judged = sum(past.cell.judged > 0 for past in history.past)
    facts = f"  {POLICIES[history.policy]}, {count(len(history.past), 'run')}, {judged} with data"
    yield from wrapped(Text.assemble((screen.safe(one_line(history.subject)), "bold"), (facts, "dim")), screen.width)
    yield from _bars(history.past, screen)
    days = {past.run: numbers.when(past.started) for past in history.past}
    if history.present.first != history.stretches[-1].first:
        yield from _paragraph(f"now, {_segment(history.present, days)}", screen, "bold")
    for segment in history.stretches:
        yield from _paragraph(_segment(segment, days), screen)
    if not history.course.points and history.course.enough:
        yield from _paragraph("no change of the rate", screen)
    for point in history.course.points:
        yield from _paragraph(_point(point, days), screen, "bold red" if point.direction == "fall" else "bold green")
        yield from _paragraph(_range(point, days), screen)
        for cause in point.causes:
            yield from _paragraph(f"  then: {phrases.PARTS[cause.part]} {cause.before} → {cause.after}", screen)
    for change in history.course.changes:
        mark = phrases.mark_of(change.part)
        values = f"{one_line(change.before, width=40)} → {one_line(change.after, width=40)}"
        yield from _paragraph(f"{mark} {days[change.run]}  {phrases.PARTS[change.part]} {values}", screen, "dim")
    if any(map(files_unknown, history.course.fingerprints)):
        yield from _paragraph(unknown_files_note(history.subject), screen, "dim")
    yield from _paragraph(_false_alarms(history), screen, "dim")


def _bars(past: Sequence[PastCell], screen: Screen) -> Iterator[Text]:
    """As many nights per line as fit, with the date of the first."""
    available = screen.width - 14
    line: list[PastCell] = []
    used = 0
    for cell in (*past, None):
        wide = 0 if cell is None else 1 + len(cell.cell.marks) + cell.cell.mixed
        if line and (cell is None or used + wide > available):
            shown = sparkline([each.cell for each in line], screen)
            yield Text.assemble((f"  {line[0].started[:10]}  ", "dim"), shown)
            line, used = [], 0
        if cell is not None:
            line.append(cell)
            used += wide


def _segment(segment: Segment, days: dict[str, str]) -> str:
    rate = f"{numbers.rate(segment.rate)}, {segment.passed} of {segment.judged}" if segment.rate else "no data"
    mark = {None: "from", "eval": f"{phrases.EVAL_MARK} from"}.get(segment.mark, f"{phrases.SUBJECT_MARK} from")
    mixed = f", across {phrases.SUBJECT_MARK}" if segment.mixed else ""
    return f"{mark} {days[segment.first]}: {rate} in {count(segment.runs, 'run')}{mixed}"


def _point(point: ChangePoint, days: dict[str, str]) -> str:
    word, sign = ("fell", "▼") if point.direction == "fall" else ("rose", "▲")
    before, after = (
        f"{numbers.percent(passed / judged)} ({passed} of {judged})" for passed, judged in (point.before, point.after)
    )
    noticed = "" if point.noticed == point.began else f", detected {days[point.noticed]}"
    return f"{sign} {word} {days[point.began]} (run {point.began}){noticed}: {before} → {after}"


def _range(point: ChangePoint, days: dict[str, str]) -> str:
    """Between which nights and commits it happened."""
    commits = f", commits {phrases.commit_range(*point.commits)}" if point.commits else ""
    return f"  between {days[point.last_before]} and {days[point.first_after]}{commits}"


def _false_alarms(own: SubjectHistory) -> str:
    if own.course.enough:
        return (
            f"expect at most one false alarm of this eval in {count(own.course.nights_between_false_alarms, 'night')}"
        )
    return f"{_NOT_ENOUGH} ({count(own.course.nights, 'night')} since the last change of the eval or its rate)"


def _paragraph(text: str, screen: Screen, style: str = "") -> list[Text]:
    return hanging(text, screen, style, indent=2)
