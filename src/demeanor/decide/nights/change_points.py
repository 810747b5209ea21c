"""Find the nights in which an eval's pass rate changed, and what else changed then.

The nights of all subjects of an eval are scanned together (`statistics/change.py`), with the correlation that trials of
a night have in the whole suite. An edit of the eval starts a new scan, because its rates before and after can't be
compared. The reports of a night and of an eval and the dashboard all use this, so they agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from demeanor.core.values.history import RunCell
from demeanor.core.values.run_diff import ChangePoint, RateHistory, RunDiff
from demeanor.decide.nights.night_cells import changes, count, fingerprints
from demeanor.statistics import MIN_NIGHTS, NIGHTS_BETWEEN_FALSE_ALARMS, RateChange, find_changes


def rate_histories(cells: Iterable[RunCell], correlation: float = 0.0) -> dict[str, RateHistory]:
    """The change points of one eval, by subject; the trials of a subject in a night have this correlation."""
    by_subject: dict[str, list[RunCell]] = {}
    for cell in sorted(cells, key=lambda cell: (cell.started, cell.run)):
        own = by_subject.setdefault(cell.subject, [])
        if cell.judged:
            own.append(cell)
    marks = {subject: tuple(changes(own)) for subject, own in by_subject.items()}
    points: dict[str, list[ChangePoint]] = {subject: [] for subject in by_subject}
    since = dict.fromkeys(by_subject, "")
    nights = sorted({(cell.started, cell.run) for own in by_subject.values() for cell in own})
    for part in _between_edits(nights, marks.values()):
        scanned = [subject for subject, own in by_subject.items() if any((c.started, c.run) in part for c in own)]
        chosen = {subject: by_subject[subject] for subject in scanned}
        for change, subject, point in _scan(part, chosen, marks, correlation):
            points[subject].append(point)
            since[subject] = max(since[subject], part[change.first][0])
        for subject in by_subject:
            since[subject] = max(since[subject], part[0][0])
    return {
        subject: _history(own, marks[subject], points[subject], since[subject]) for subject, own in by_subject.items()
    }


def _between_edits(
    nights: Sequence[tuple[str, str]], marks: Iterable[Sequence[RunDiff]]
) -> list[list[tuple[str, str]]]:
    """The nights, divided where the eval was edited."""
    edited = {mark.run for own in marks for mark in own if mark.part == "eval"}
    parts: list[list[tuple[str, str]]] = []
    for night in nights:
        if not parts or night[1] in edited:
            parts.append([])
        parts[-1].append(night)
    return parts


def _scan(
    nights: Sequence[tuple[str, str]],
    cells: Mapping[str, Sequence[RunCell]],
    marks: Mapping[str, Sequence[RunDiff]],
    correlation: float,
) -> Iterable[tuple[RateChange, str, ChangePoint]]:
    """Each change with each subject that it affects."""
    subjects = list(cells)
    tables = {subject: _by_night(cells[subject]) for subject in subjects}
    series = [[_score(tables[subject].get(run, ())) for _, run in nights] for subject in subjects]
    for change in find_changes(series, correlation):
        for index in change.series:
            yield change, subjects[index], _point(change, nights, tables[subjects[index]], marks[subjects[index]])


def _point(
    change: RateChange,
    nights: Sequence[tuple[str, str]],
    cells: Mapping[str, Sequence[RunCell]],
    marks: Sequence[RunDiff],
) -> ChangePoint:
    def between(first: int, last: int) -> list[RunCell]:
        return [cell for _, run in nights[first:last] for cell in cells.get(run, ())]

    own = [index for index, (_, run) in enumerate(nights) if run in cells]
    began, after = (next(index for index in own if index >= place) for place in (change.first, change.latest))
    before = max(index for index in own if index < change.earliest)
    noticed = max(index for index in own if index <= max(change.noticed, after))
    near = {run for _, run in nights[max(0, change.earliest - 1) : change.latest + 1]}
    commits = [next((cell.commit for cell in cells[nights[at][1]] if cell.commit), "") for at in (before, after)]
    return ChangePoint(
        direction="fall" if change.fell else "rise",
        began=nights[began][1],
        last_before=nights[before][1],
        first_after=nights[after][1],
        commits=(commits[0], commits[1]) if all(commits) else None,
        noticed=nights[noticed][1],
        before=_score(between(change.start, change.first)),
        after=_score(between(change.first, change.end)),
        causes=tuple(mark for mark in marks if mark.run in near),
    )


def _history(
    judged: Sequence[RunCell], marks: Sequence[RunDiff], points: Sequence[ChangePoint], since: str
) -> RateHistory:
    nights = len({cell.run for cell in judged if cell.started >= since})
    return RateHistory(
        points=tuple(points),
        changes=tuple(marks),
        nights_between_false_alarms=NIGHTS_BETWEEN_FALSE_ALARMS,
        nights=nights,
        enough=nights >= MIN_NIGHTS,
        fingerprints=fingerprints(judged),
    )


def _by_night(cells: Iterable[RunCell]) -> dict[str, list[RunCell]]:
    nights: dict[str, list[RunCell]] = {}
    for cell in cells:
        nights.setdefault(cell.run, []).append(cell)
    return nights


def _score(cells: Iterable[RunCell]) -> tuple[int, int]:
    passed, failed = count(cells)
    return passed, passed + failed
