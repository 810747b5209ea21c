"""Texts that all formats of the night report share."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping

from demeanor.core.text.wording import all_of, count, one_line
from demeanor.core.values.history import Night
from demeanor.core.values.policy import Policy
from demeanor.core.values.run_diff import Part
from demeanor.core.values.tally import Status
from demeanor.decide import EXPECTED
from demeanor.render import marks, numbers
from demeanor.reports.night.report import (
    BatchNights,
    FailingCell,
    FailureMode,
    NightCell,
    NightChange,
    NightReport,
    NightRow,
    NightState,
    NightStep,
    NightTotal,
    SubjectNights,
)
from demeanor.reports.run import held_by_layer

MISSING = "–"
"""Shown in place of a missing number."""

SUBJECT_MARK, EVAL_MARK = marks.SUBJECT_MARK, marks.EVAL_MARK

PARTS: Mapping[Part, str] = {
    "eval": "eval edited",
    "policy": "policy",
    "agent": "agent",
    "prompt": "system prompt, tools or sampling",
    "model": "model",
    "files": "files of the agent",
    "subject": "settings",
}

LEGEND: Mapping[str, str] = {
    SUBJECT_MARK: "the subject changed (agent, prompt, settings or model)",
    EVAL_MARK: "the eval was edited",
    "○": "no data: only voids",
    "·": "skipped",
    MISSING: "not part of that run, or not run",
}
"""The signs in a row of nights."""

EXPECTED_FAIL = "expected fail"
EXPECTED_LEGEND = f"{EXPECTED_FAIL}: {EXPECTED}"

_STATES: Mapping[NightState, str] = {"no data": "no data", "skipped": "skipped", "absent": MISSING, "judged": ""}
_LONGEST = 1000


def title(report: NightReport) -> str:
    """The title of the report."""
    what = {"nightly": "Night", "ci": "CI run", "local": "Run"}[report.run.kind]
    return f"{what} of {numbers.when(report.run.started)}"


def origin(report: NightReport) -> str:
    """The run's id, commit, branch and version."""
    run = report.run
    parts = [" and ".join(f"run {name}" for name in report.nights[-1].names)]
    if run.commit:
        parts.append(f"commit {run.commit[:12]}" + (f" on {run.branch}" if run.branch else ""))
    parts += ["with uncommitted changes"] if run.dirty else []
    parts += [f"Demeanor {run.demeanor}"] if run.demeanor else []
    here = report.nights[-1].origin
    parts += [f"imported from {here}"] if here != "demeanor" else []
    return " · ".join(one_line(part, width=400) for part in parts)


def layers(report: NightReport) -> str | None:
    """How many cells of each layer held in this run; None if it has no whole tasks."""
    return held_by_layer(
        (row.layer, row.decision.answer)
        for nights in report.subjects
        for row in nights.rows
        if row.decision is not None
    )


def has_tasks(rows: Iterable[NightRow]) -> bool:
    """Whether an eval of a table is a whole task, so that there are layers to tell apart."""
    return any(row.layer == 3 for row in rows)


def day(night: Night) -> str:
    """`11-16`: short enough for a column."""
    return one_line(night.info.started[5:10] or night.name, width=10)


def column(night: Night, report: NightReport) -> str:
    """The heading of a night's column: its day, the time if a day has several, the branch if it differs."""
    days = [day(night) for night in report.nights]
    hour = f" {night.info.started[11:16]}" if days.count(day(night)) > 1 else ""
    other = night.info.branch != report.run.branch and night.info.branch
    return day(night) + hour + (f" ({one_line(night.info.branch or '', width=20)})" if other else "")


def history(report: NightReport, *, ordered: bool = True) -> str:
    """Which nights are shown, and in which order unless a caption says so."""
    *before, _ = report.nights
    if not before:
        return "there are no nights before this run"
    span = f", {day(before[0])} to {day(before[-1])}" if len(before) > 1 else f", {day(before[0])}"
    return f"{count(len(before), 'night')} before this run{span}{', oldest first, then this one' if ordered else ''}"


def false_alarms(report: NightReport) -> str:
    """How many falls a week are no falls; empty for a run that is no night, and for the first one."""
    if report.run.kind != "nightly" or not report.false_alarms or len(report.nights) == 1:
        return ""
    often = report.false_alarms
    number = f"{often:.1g}" if often < 1 else f"{often:.0f}"
    return f"false alarms: expect at most {number} “got worse” a week of all these evals if no rate changes"


def state(cell: NightCell) -> str:
    """The text in place of a rate."""
    if cell.state == "no data" and not cell.voided:
        return MISSING
    return _STATES[cell.state]


def status(row: NightRow) -> str:
    """The row in a word or two."""
    if row.tally is None or row.decision is None:
        return "absent"
    if row.decision.news:
        return "NEWS"
    if row.policy is Policy.USUALLY_FAILS and row.tally.judged:
        return EXPECTED_FAIL
    return "NO DATA" if row.tally.status is Status.VOID else row.tally.status.value


def points(step: NightStep | None) -> str:
    """`−33`, `+7`, `0`: percentage points; `▼ −100` if it is significant."""
    if step is None:
        return MISSING
    return _clear(step) + numbers.points(step.value)


def points_with_interval(step: NightStep | None) -> str:
    """`−33 [−72…+14]`, with a mark if the subject or the eval changed."""
    if step is None:
        return MISSING
    other = "" if step.alike else f" {SUBJECT_MARK}"
    return f"{_clear(step)}{numbers.points(step.value)} [{numbers.points(step.low)}…{numbers.points(step.high)}]{other}"


def total(nights: SubjectNights | BatchNights) -> str:
    """The total pass rate of this night."""
    now = nights.totals[-1]
    rate = numbers.rate(now.rate) if now.rate else "no data"
    return f"{rate} over {evals(now, _summed(nights))}"


def batch(report: NightReport) -> str:
    """What the total of the whole run is of."""
    return all_of(len(report.subjects), "subject").capitalize()


def rates(nights: BatchNights) -> str:
    """`96 % · – · 87 %`: the totals of the nights, the oldest first."""
    return " · ".join(numbers.percent(now.rate.value) if now.rate else MISSING for now in nights.totals)


def _summed(nights: SubjectNights | BatchNights) -> str:
    return "cell" if isinstance(nights, BatchNights) else "eval"


def compared(nights: SubjectNights | BatchNights) -> str:
    """The change since the last night with data, in one sentence; empty if there is none."""
    step = nights.change
    if step is None:
        return ""
    sure = "significant" if step.clear else "not significant"
    other = "; the subject has changed" if not step.alike else ""
    interval = f"{numbers.points(step.value)} points [{numbers.points(step.low)}…{numbers.points(step.high)}]"
    return f"{interval} since the night before, over {count(step.evals, _summed(nights))}: {sure}{other}"


def evals(now: NightTotal, noun: str = "eval") -> str:
    """The number of evals, or of cells, in a total."""
    rest = now.evals - now.judged - now.known_bad
    return count(now.judged, noun) + (f" ({rest} more without data)" if rest else "")


def known_bad(now: NightTotal) -> str:
    """The rate of the evals that are known to fail, which is not part of the total; empty if there are none."""
    if now.known_bad_rate is None:
        return ""
    return f"{numbers.rate(now.known_bad_rate)} over {count(now.known_bad, 'eval')}, not part of the total"


def expected_fails(report: NightReport) -> bool:
    """Whether an eval failed as expected, which the legend has to explain."""
    return any(status(row) == EXPECTED_FAIL for nights in report.subjects for row in nights.rows)


def used(now: NightTotal) -> str:
    """Time, tokens and cost."""
    rest = numbers.tokens_and_cost(now.spent, now.uncounted, now.unpriced)
    return f"{numbers.duration(now.spent.seconds)} agent time · {rest}"


def spending(row: NightRow) -> dict[str, str]:
    """Time, tokens and cost of one row; empty if it was not run."""
    tally = row.tally
    if tally is None or not tally.attempts:
        return {"time": "", "tokens": "", "cost": ""}
    return {
        "time": numbers.duration(tally.spent.seconds),
        "tokens": numbers.tokens(tally.spent, tally.uncounted),
        "cost": numbers.money(tally.spent, tally.unpriced),
    }


def counts(nights: SubjectNights) -> str:
    """`26 of 27 judged: 21 passed · 5 failed · 1 void`."""
    tallies = [row.tally for row in nights.rows if row.tally is not None]
    trials = {
        "passed": sum(tally.passed for tally in tallies),
        "failed": sum(tally.failed for tally in tallies),
        "void (not counted)": sum(tally.voided for tally in tallies),
        "not run": sum(tally.missing for tally in tallies),
    }
    skipped = sum(tally.skipped is not None for tally in tallies)
    parts = [f"{number} {word}" for word, number in trials.items() if number]
    parts += [f"{count(skipped, 'eval')} skipped"] if skipped else []
    judged = f"{trials['passed'] + trials['failed']} of {sum(trials.values())} judged: " if any(trials.values()) else ""
    return judged + " · ".join(parts) if parts else "nothing was run"


def together(row: NightRow) -> str:
    """The combined rate of the shown nights, with a mark if some of them are left out."""
    if row.together.rate is None:
        return MISSING
    since = ""
    if row.together.mark:
        since = f" since {EVAL_MARK if row.together.mark == 'eval' else SUBJECT_MARK}"
    mixed = f" across {SUBJECT_MARK}" if row.together.mixed and not since else ""
    return numbers.rate(row.together.rate) + since + mixed


def changes(report: NightReport) -> Iterator[tuple[str, str]]:
    """What changed, with its sign. Equal changes of several subjects are combined."""
    by_change: dict[tuple[str, str], list[str]] = {}
    for nights in report.subjects:
        for change in nights.changes:
            by_change.setdefault((mark_of(change.part), _change(change, report)), []).append(one_line(nights.subject))
    for (mark, text), subjects in by_change.items():
        everywhere = len(subjects) == len(report.subjects) > 1
        yield mark, f"{text}, {'all subjects' if everywhere else ', '.join(subjects)}"


def mark_of(part: Part) -> str:
    """The sign of a change."""
    return {"eval": EVAL_MARK, "policy": " "}.get(part, SUBJECT_MARK)


def _change(change: NightChange, report: NightReport) -> str:
    night = next(night for night in report.nights if night.name == change.run)
    values = f" {one_line(change.before, width=40)} → {one_line(change.after, width=40)}" if change.before else ""
    if change.part == "prompt":  # two hashes: the changed lines are in the notes
        values = ""
    names = ", ".join(one_line(name, width=60) for name in change.evals[:3])
    more = f" and {len(change.evals) - 3} more" if len(change.evals) > 3 else ""
    return f"{numbers.when(night.info.started)}  {PARTS[change.part]}{values}: {names}{more}"


def commands(report: NightReport, cell: FailingCell) -> Iterator[str]:
    """Commands that show more details."""
    name, subject = one_line(cell.eval, width=_LONGEST), one_line(cell.subject, width=_LONGEST)
    number = cell.ways[0].trials[0] if cell.ways and cell.ways[0].trials else 1
    if report.nights[-1].origin == "demeanor":
        run = (cell.ways[0].run if cell.ways else "") or report.run.id
        yield f"demeanor trace {shlex.quote(f'{name}/{subject}/{number}')} --run {shlex.quote(run)}"
    kinds = "" if report.run.kind == "nightly" else " --kind all"  # by default, only nights are shown
    yield f"demeanor report --eval {shlex.quote(name)} --subject {shlex.quote(subject)}{kinds}"


def trials(report: NightReport, mode: FailureMode) -> str:
    """`trials 1 and 3`, with their run if the night has several."""
    run = f" of {mode.run}" if len(report.nights[-1].runs) > 1 else ""
    return numbers.trials(list(mode.trials)) + run


def commit_range(first: str, last: str) -> str:
    """`f9436b9..f0d7934`, or the only commit."""
    return f"{first[:7]}..{last[:7]}" if first != last else first[:7]


def more(number: int) -> str:
    """A note about failures that are not shown."""
    return f"… and {number} more (--details {number + 1} or more shows them)"


def used_marks(report: NightReport) -> list[str]:
    """The signs that the legend has to explain."""
    # Many cells are the same value, and counting by id is faster than by value.
    cells = {id(cell): cell for nights in report.subjects for row in nights.rows for cell in row.cells}.values()
    shown = {sign for cell in cells for sign in marks_of(cell)}
    states = {cell.state for cell in cells}
    signs = (("○", "no data"), ("·", "skipped"), (MISSING, "absent"))
    return [mark for mark in (SUBJECT_MARK, EVAL_MARK) if mark in shown] + [sign for sign, of in signs if of in states]


def marks_of(cell: NightCell) -> str:
    """◆ for another subject, ◇ for an edited eval."""
    subject = SUBJECT_MARK if {"subject", "model"} & {*cell.marks} or cell.mixed else ""
    return subject + (EVAL_MARK if "eval" in cell.marks else "")


def _clear(step: NightStep) -> str:
    if not step.clear:
        return ""
    return "▲ " if step.value > 0 else "▼ "
