"""The page of one trial: why it ended so, when what happened, and its steps beside the nearest passing trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import fsum
from typing import Any

from demeanor.core.text.wording import one_line
from demeanor.core.values.errors import StoreError, UnknownName
from demeanor.core.values.history import PastRun
from demeanor.core.values.notes import MEANINGS, MOST_CHARACTERS
from demeanor.core.values.record import Record
from demeanor.core.values.trajectory import Called, Event
from demeanor.core.values.verdict import Pass, Void
from demeanor.reports.failures import group_brief, group_failures, reproduce, with_commands
from demeanor.reports.trial import NO_SINGLE_STEP, SAME_STEPS, find_divergence, nearest_pass, step_rows
from demeanor.results import StoredRun, TrialSteps, load_steps, request_of_run, stored_scan, user_replies
from demeanor.store.history import ExchangeTime, SqlHistory, exchange_times, outcomes, read_notes
from demeanor.store.runs import RunPlace, place_of
from demeanor.web.charts import Span, time_strip
from demeanor.web.links import NOTE_PATH
from demeanor.web.pages.context import PageContext
from demeanor.web.pages.trial_files import exchange_text, log_text, prompt_parts, workspace_diff

TABS = ("steps", "diff", "prompt", "exchanges", "log", "commands")
FIRST = "first"
"""In place of a number: the first trial that did not pass, or else the first."""

_MOST_PASSES = 12
_EARLIER_RUNS = 6
_LONGEST = 1000
_MOST_NOTES = 20
_MOST_NAMES = 4


def trial_page(context: PageContext, parts: Mapping[str, str], query: Mapping[str, str]) -> dict[str, Any]:
    """One trial. Only the chosen tab is read."""
    history = context.history()
    run = history.run(parts["run"])
    name, subject = parts["eval"], parts["subject"]
    trials = outcomes(history, run.name, [(name, subject)])[name, subject]
    if not trials:
        raise UnknownName("trial", f"{name}/{subject}", [], where=f"run {run.name}")
    number = _number(parts["number"], trials, f"{name}/{subject}")
    attempts = [record for record in history.records(run.name, name=name, subject=subject) if record.number == number]
    record = _counting(attempts)
    times = exchange_times(history, run.name, name, subject, number)
    place = place_of(run, context.results)
    own = load_steps(place, record, context.captures())
    tab = query.get("tab", "steps")
    tab = tab if tab in TABS else "steps"
    values: dict[str, Any] = {
        "run": run,
        "record": record,
        "name": name,
        "subject": subject,
        "number": number,
        "trials": trials,
        "attempts": attempts,
        "verdict": record.verdict,
        "reason": "" if isinstance(record.verdict, Pass) else record.verdict.reason,
        "cause": record.verdict.cause.value if isinstance(record.verdict, Void) else "",
        "strip": time_strip(time_spans(times, own.events, record.spent.seconds), record.spent.seconds)
        if times
        else None,
        "scan": stored_scan(place.folder, record),
        "tab": tab,
        "tabs": TABS,
        "commands": _commands(run, record),
        "notes": read_notes(history, run=run.name, name=name, subject=subject, number=number, limit=_MOST_NOTES),
        "labels": MEANINGS,
        "longest_note": MOST_CHARACTERS,
        "form_token": context.form_token,
        "note_path": NOTE_PATH,
        "place": "",
        "previous": _neighbour(trials, number, -1),
        "next": _neighbour(trials, number, 1),
        "next_failing": next((t.number for t in trials if t.number > number and t.outcome != "pass"), None),
    }
    return values | _tab(context, run, own, place, tab, times, query)


def _tab(
    context: PageContext,
    run: PastRun,
    own: TrialSteps,
    place: RunPlace,
    tab: str,
    times: Sequence[ExchangeTime],
    query: Mapping[str, str],
) -> dict[str, Any]:
    """What the chosen tab shows."""
    record, folder = own.record, place.folder
    absence = "" if run.origin == "demeanor" else f"it was imported from {run.origin}, and imported runs have no steps"
    view: dict[str, Any] = {"absence": absence, "place": str(folder.folder / record.folder) if folder else run.source}
    if tab == "steps":
        return view | _steps(context, run, own, place, times)
    if tab == "diff":
        return view | {"diff": workspace_diff(folder, record)}
    if tab == "log":
        return view | {"log": log_text(folder, record)}
    if tab == "commands":
        return view
    try:
        if tab == "prompt":
            return view | {"prompt": prompt_parts(run, record, context.results, context.captures())}
        chosen = query.get("x", "")
        exchange_number = int(chosen) if chosen.isdecimal() and len(chosen) < 7 else None
        raw = (
            exchange_text(run, record, context.results, context.captures(), exchange_number)
            if exchange_number
            else None
        )
        return view | {"times": times, "exchange": exchange_number, "raw": raw}
    except StoreError as error:
        return view | {"absence": str(error), "prompt": None, "times": times, "exchange": None, "raw": None}


def _with_replies(context: PageContext, run: PastRun, steps: TrialSteps) -> TrialSteps:
    return replace(steps, replies=user_replies(place_of(run, context.results), steps.record, context.captures()))


def _steps(
    context: PageContext, run: PastRun, own: TrialSteps, place: RunPlace, times: Sequence[ExchangeTime]
) -> dict[str, Any]:
    good = isinstance(own.record.verdict, Pass)
    passing = None if good or own.events is None else _nearest(context, context.history(), run, own)
    own = _with_replies(context, run, own)
    if passing is not None:
        passing = _with_replies(context, context.history().run(passing.run), passing)
    return {
        "brief": "" if good or place.origin != "demeanor" else _brief(run, own, passing, place),
        "steps": step_rows(own, passing, times),
        "own": own,
        "passing": passing,
        "divergence": find_divergence(own, passing),
        "no_single_step": NO_SINGLE_STEP,
        "same_steps": SAME_STEPS,
        "absence": own.absence,
    }


def _brief(run: PastRun, own: TrialSteps, passing: TrialSteps | None, place: RunPlace) -> str:
    """The trial as a task for a coding agent."""
    (group,) = group_failures([own], [passing] if passing else [])
    return group_brief(with_commands(group, StoredRun(info=run.info, records=(), cells=(), place=place)))


def _nearest(context: PageContext, history: SqlHistory, run: PastRun, own: TrialSteps) -> TrialSteps | None:
    """The most similar passing trial: of the same cell, else of the latest earlier run that has one."""
    record = own.record
    passes = _passes(context, history, run, record)
    if passes:
        return nearest_pass(own, passes)
    cells = history.eval_history(record.eval, record.subject)
    earlier = [cell.run for cell in cells if cell.passed and cell.started < run.info.started]
    for name in reversed(earlier[-_EARLIER_RUNS:]):
        passes = _passes(context, history, history.run(name), record)
        if any(steps.events is not None for steps in passes):
            return nearest_pass(own, passes)
    return None


def _passes(context: PageContext, history: SqlHistory, run: PastRun, record: Record) -> list[TrialSteps]:
    place = place_of(run, context.results)
    if place.origin != "demeanor":
        return []  # an import: it has no steps
    trials = history.trials(run.name, name=record.eval, subject=record.subject)
    passed = [trial for trial in trials if isinstance(trial.verdict, Pass)][:_MOST_PASSES]
    loaded = [load_steps(place, passing, context.captures()) for passing in passed]
    return [steps for steps in loaded if steps.events is not None]


def _number(text: str, trials: Sequence[Any], where: str) -> int:
    numbers = {trial.number for trial in trials}
    if text == FIRST:
        return int(next((trial.number for trial in trials if trial.outcome != "pass"), trials[0].number))
    if not text.isdecimal() or len(text) > 10 or int(text) not in numbers:
        raise UnknownName("trial", text, [str(number) for number in sorted(numbers)], where=where)
    return int(text)


def _counting(attempts: Sequence[Record]) -> Record:
    """The attempt that counts, as in the view `trials`."""
    return max(attempts, key=lambda attempt: (attempt.final, attempt.ended, attempt.attempt))


def _neighbour(trials: Sequence[Any], number: int, step: int) -> int | None:
    numbers = [trial.number for trial in trials]
    index = numbers.index(number) + step
    return numbers[index] if 0 <= index < len(numbers) else None


def _commands(run: PastRun, record: Record) -> list[tuple[str, list[str]]]:
    """What to do next, in words and as a command line."""
    trial = one_line(record.trial, width=_LONGEST)
    history = ["demeanor", "report", "--eval", one_line(record.eval, width=_LONGEST)]
    history += ["--subject", one_line(record.subject, width=_LONGEST)]
    if run.origin != "demeanor":
        return [("Its pass rate over time", history)]
    trace = ["demeanor", "trace", trial, "--run", run.name]
    commands = [("Run this eval again, three trials", reproduce(record, request_of_run(run.info)))]
    commands.append(("This trial in the terminal", trace))
    if not isinstance(record.verdict, Pass):
        commands.append(("Side by side with the nearest passing trial", [*trace, "--diff"]))
        commands.append(("Group the failures of this run", ["demeanor", "report", run.name, "--failures"]))
    commands.append(("Judge the stored trial again, without agent or model", ["demeanor", "rejudge", run.name]))
    commands.append(("Its pass rate over time", history))
    return commands


def time_spans(times: Sequence[ExchangeTime], events: Sequence[Event] | None, seconds: float) -> tuple[Span, ...]:
    """The time of a trial from its start to its end. Requests that overlap count once.

    Between two requests, tools run from the time of the first call: for as long as the agent's log says, or else until
    the next request. Steps that were stored without a time, or that are not available, leave tools and agent together.
    """
    calls = [event for event in events or () if isinstance(event, Called)]
    starts = None if events is None or any(call.at is None for call in calls) else calls
    spans: list[Span] = []
    clock = 0.0
    for exchange in sorted(times, key=lambda exchange: exchange.started):
        start = max(clock, exchange.started)
        if start > clock:
            spans += _between(clock, start, starts) if spans else [_start_up(start)]
        if exchange.ended > start:
            label = f"model, request {exchange.number}, {exchange.ended - exchange.started:.2f} s"
            spans.append(Span(kind="model", start=start, end=exchange.ended, label=label))
            clock = exchange.ended
    if seconds > clock and spans:
        spans += _between(clock, seconds, starts)
    return tuple(spans)


def _start_up(end: float) -> Span:
    return Span(kind="start", start=0.0, end=end, label=f"start-up, {end:.2f} s")


def _between(start: float, end: float, calls: Sequence[Called] | None) -> Iterator[Span]:
    """The time between two requests."""
    if calls is None:
        yield Span(kind="tool", start=start, end=end, label=f"tools and agent, {end - start:.2f} s")
        return
    own = [call for call in calls if call.at is not None and start - 0.001 <= call.at < end]
    clock = start
    if own:
        durations = [call.seconds for call in own if call.seconds is not None]
        clock = min(end, start + fsum(durations)) if len(durations) == len(own) else end
        names = ", ".join(one_line(call.tool, width=30) for call in own[:_MOST_NAMES])
        more = f" and {len(own) - _MOST_NAMES} more" if len(own) > _MOST_NAMES else ""
        if clock > start:
            yield Span(kind="tool", start=start, end=clock, label=f"{names}{more}, {clock - start:.2f} s")
    if end > clock:
        yield Span(kind="agent", start=clock, end=end, label=f"the agent itself, {end - clock:.2f} s")
