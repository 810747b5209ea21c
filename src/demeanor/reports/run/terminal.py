"""Renders the report of a run for a terminal: whether it held, what broke, what to do next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.text import Text

from demeanor.core.text.wording import count, one_line, opening
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.tally import Summary
from demeanor.render import (
    STYLES,
    Column,
    Screen,
    command_lines,
    dots,
    exit_style,
    labelled,
    numbers as figures,
    paint,
    paragraph,
    sign,
    table,
    wrapped,
)
from demeanor.reports.run import phrases as words
from demeanor.reports.run.failure_groups import (
    Failure,
    StartFailure,
    failures,
    otherwise_void,
    start_failures,
    voids,
)
from demeanor.reports.run.report import CellReport, RunReport

_REASON_LINES = 16
_CHAIN_LINES = 6
_MOST_PARTS = 20


def terminal_report(report: RunReport, screen: Screen | None = None) -> str:
    """The whole report as text for `screen`."""
    screen = screen or Screen()
    return paint(_report(report, screen), screen)


def cell_text(cell: CellReport, screen: Screen | None = None) -> str:
    """What broke in one cell, as text for `screen`."""
    screen = screen or Screen()
    lines = list(_failed(cell, screen)) if cell.tally.failed else []
    return paint([*lines, *(_void(cell, screen, resumable=True) if cell.tally.voided else ())], screen)


def _report(report: RunReport, screen: Screen) -> Iterator[Text]:
    yield from paragraph(words.headline(report), screen, exit_style(report.exit_code))
    for summary in report.summaries:
        yield Text()
        yield from _subject_table(report, summary, screen)
    yield from details(report, screen)


def _subject_table(report: RunReport, summary: Summary, screen: Screen) -> Iterator[Text]:
    """The table of one subject: one row per eval, and the mean below them."""
    cells = report.of_subject(summary.subject)
    held = sum(cell.decision.answer == "accept" for cell in cells)
    ran = count(sum(cell.decision.answer != "skipped" for cell in cells), "eval")
    yield Text.assemble((screen.safe(summary.subject), "bold"), (f"  {held} of {ran} held", "dim"))
    lines = table(_columns(report, cells, summary, screen), screen)
    yield from lines
    notes = [words.case_group(group) for group in report.case_groups if group.subject == summary.subject]
    notes += [words.known_bad(summary)] if summary.known_bad else []
    notes += [words.ROUGH] if any("~" in line.plain for line in lines) and "pass^" in lines[0].plain else []
    for note in notes:
        yield from paragraph(note, screen, "dim")


def _columns(report: RunReport, cells: Sequence[CellReport], summary: Summary, screen: Screen) -> Iterator[Column]:
    has_mean = summary.judged > 1

    def texts(title: str, show: Callable[[CellReport], Text], mean: str = "", *, rank: int = 0) -> Column:
        last = [Text(screen.safe(mean), "dim")] if has_mean else []
        return Column(title=title, cells=[*map(show, cells), *last], rank=rank)

    def figure(title: str, show: Callable[[CellReport], str], mean: str = "", *, rank: int = 0) -> Column:
        last = [Text(screen.safe(mean), "dim")] if has_mean else []
        shown = [_figure(show(cell), cell, screen) for cell in cells]
        return Column(title=title, cells=[*shown, *last], align="right", rank=rank)

    narrow = int(screen.width < 60)  # only there, the policy may be left out
    names = [Text(screen.safe(" ".join(cell.tally.eval.split()))) for cell in cells]
    mean_name = [Text(f"mean of {count(summary.judged, 'eval')}", "dim")] if has_mean else []
    yield texts("", lambda cell: _status(cell, screen))
    yield Column(title="eval", cells=[*names, *mean_name], comfort=36, least=8)
    yield texts("policy", lambda cell: Text(words.policy_word(cell.tally.policy, screen.width), "dim"), rank=narrow)
    yield texts("trials", lambda cell: dots(words.outcomes(cell), screen))
    yield figure("pass rate", lambda cell: figures.rate(cell.tally.rate), figures.rate(summary.rate))
    if any(cell.tally.voided for cell in cells):
        yield figure("void", lambda cell: words.void_causes(cell.tally), rank=1)
    k = words.shown_k(cells)
    if k > 1:
        at, hat = words.mean_passes_of_k(summary, cells, k)
        yield figure(f"pass@{k}", lambda cell: words.passes_of_k(cell, k)[0], at, rank=2)
        yield figure(f"pass^{k}", lambda cell: words.passes_of_k(cell, k)[1], hat, rank=1)
    yield figure("time", lambda cell: figures.duration(cell.tally.spent.seconds), rank=3)
    yield figure("tokens", lambda cell: figures.tokens(cell.tally.spent, cell.tally.uncounted), rank=5)
    yield figure("cost", lambda cell: figures.money(cell.tally.spent, cell.tally.unpriced), rank=4)


def _status(cell: CellReport, screen: Screen) -> Text:
    answer = "news" if cell.decision.news else cell.decision.answer
    word = words.status(cell)
    style = STYLES["void"] if word == "FLAKY" and answer == "accept" else STYLES[answer]
    return Text.assemble(sign(answer, screen), " ", (word, "dim" if word == "expected fail" else style))


def _figure(text: str, cell: CellReport, screen: Screen) -> Text:
    if cell.tally.attempts == 0:
        return Text()
    return Text(screen.safe(text), "dim" if text == figures.UNKNOWN else "")


def details(report: RunReport, screen: Screen, *, resumable: bool = True) -> Iterator[Text]:
    """What broke, what is void, what was used and what to do next; the report of a gate ends with it too."""
    yield from _section("What broke", [_failed(cell, screen) for cell in words.broken(report)])
    yield from _section("Failed, but tolerated", [_failed(cell, screen) for cell in words.tolerated(report)])
    yield from _section("Expected to fail", [_title(c, c.decision.reason, screen) for c in words.expected(report)])
    yield from _section("News", [_title(cell, cell.decision.reason, screen) for cell in words.news(report)])
    yield from _section(
        "Agents that did not start", [_not_started(failure, screen) for failure in start_failures(report)]
    )
    yield from _section(
        "Void: run, but not judged", [_void(cell, screen, resumable=resumable) for cell in otherwise_void(report)]
    )
    yield from _section("Skipped", [_title(c, c.tally.skipped or "", screen) for c in words.skipped(report)])
    yield Text()
    yield from _footer(report, screen, words.next_step(report, resumable=resumable))


def _section(title: str, parts: Sequence[Iterable[Text]]) -> Iterator[Text]:
    """A title and its parts, separated if they have several lines. If there are too many, the rest is in the files."""
    if not parts:
        return
    yield Text()
    yield Text(title, "bold")
    for index, part in enumerate(parts[:_MOST_PARTS]):
        lines = list(part)
        if index and len(lines) > 2:
            yield Text()
        yield from lines
    if len(parts) > _MOST_PARTS:
        yield Text()
        yield Text(f"and {len(parts) - _MOST_PARTS} more, see summary.md and report.json", "dim")


def _failed(cell: CellReport, screen: Screen) -> Iterator[Text]:
    """Why trials failed, what they did, and the commands that show a trial and run it again."""
    yield from _title(cell, cell.decision.reason, screen)
    for failure in failures(cell):
        yield from _reason(failure, screen)
        for chain, numbers in failure.chains.items():
            which = f" {figures.numbers(numbers)}" if len(failure.chains) > 1 else ""
            calls = opening(chain, lines=_CHAIN_LINES, width=400) or "none"
            yield from labelled(f"      calls{screen.safe(which)}  ", calls, screen)
    for failure in failures(cell)[:1]:
        yield from command_lines(words.trace(failure.trials[0]), screen, indent=4)
    yield from command_lines(words.reproduce(cell), screen, indent=4)


def _void(cell: CellReport, screen: Screen, *, resumable: bool) -> Iterator[Text]:
    yield from _title(cell, f"{cell.tally.voided} of {count(len(cell.trials), 'trial')} void", screen)
    for failure in voids(cell):
        yield from _reason(failure, screen)
        folder = screen.safe(one_line(failure.trials[0].folder, width=300))
        if folder:
            yield Text.assemble(("      kept in  ", "dim"), folder)
        yield from labelled("      remedy   ", words.remedy(failure, resumable=resumable).replace("`", ""), screen)
    for failure in voids(cell)[:1]:
        yield from command_lines(words.trace(failure.trials[0]), screen, indent=4)


def _not_started(failure: StartFailure, screen: Screen) -> Iterator[Text]:
    """Once for all evals, because the reason is the same."""
    trials, evals = count(len(failure.trials), "trial"), count(failure.evals, "eval")
    name = Text(screen.safe(one_line(failure.subject)), "bold")
    yield Text.assemble(sign("undecided", screen), " ", name, f"  {trials} of {evals} void")
    yield from paragraph(opening(failure.reason, lines=_REASON_LINES), screen, indent=6)
    folder = screen.safe(one_line(failure.trials[0].folder, width=300))
    if folder:
        yield Text.assemble(("      kept in  ", "dim"), folder)
    yield from command_lines("demeanor doctor", screen, indent=4)


def _title(cell: CellReport, sentence: str, screen: Screen) -> Iterator[Text]:
    """The cell and a sentence about it."""
    mark = sign("news" if cell.decision.news else cell.decision.answer, screen)
    name = Text(screen.safe(f"{one_line(cell.tally.eval)} · {one_line(cell.tally.subject)}"), "bold")
    reason = Text(screen.safe(one_line(sentence, width=300)))
    if name.cell_len + reason.cell_len + 4 <= screen.width:
        yield Text.assemble(mark, " ", name, "  ", reason)
    else:
        first, *more = wrapped(name, screen.width, indent=2)
        yield Text.assemble(mark, first[1:])
        yield from more
        yield from wrapped(reason, screen.width, indent=4)


def _reason(failure: Failure, screen: Screen) -> Iterator[Text]:
    attempts = max(trial.attempt for trial in failure.trials)
    tries = f", after {count(attempts, 'attempt')}" if attempts > 1 else ""
    yield Text("    " + screen.safe(figures.trials(failure.numbers) + tries), "dim")
    yield from paragraph(opening(failure.reason, lines=_REASON_LINES), screen, indent=6)


def _footer(report: RunReport, screen: Screen, step: str | None) -> Iterator[Text]:
    for label, text in (*_facts(report), *([("next", step)] if step else ())):
        yield from labelled(f"{label:<10}", text, screen)
    yield from exit_lines(report.exit_code, screen, words.meaning(report))


def exit_lines(code: ExitCode, screen: Screen, meaning: str = "") -> Iterator[Text]:
    """The exit code and what it means, after an empty line."""
    yield Text()
    first, *more = wrapped(Text(meaning or words.MEANINGS[code]), screen.width, indent=10)
    yield Text.assemble((f"{f'exit {int(code)}':<10}", exit_style(code)), first[10:])
    yield from more


def _facts(report: RunReport) -> Iterator[tuple[str, str]]:
    yield "trials", words.trial_counts(report)
    if report.collection is not None:
        yield "evals", words.collection_line(report.collection)
    if layers := words.layers(report):
        yield "layers", layers
    spent, unpriced, uncounted = report.total
    used = [f"{figures.duration(report.seconds)} wall time"] if report.seconds is not None else []
    used.append(f"{figures.duration(spent.seconds)} agent time")
    used.append(figures.tokens_and_cost(spent, uncounted, unpriced))
    yield "used", " · ".join(used)
    if report.folder:
        yield "kept in", report.folder
    for note in report.notes:
        yield "note", one_line(note, width=400)
