"""The report of `demeanor rejudge` as terminal text: what changed, why, and what can't be judged again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.text import Text

from demeanor.commands.rejudge.report import AnswerChange, CellComparison, Rejudgement, TrialComparison
from demeanor.core.text.wording import count, one_line, opening
from demeanor.core.values.tally import Tally
from demeanor.core.values.verdict import Pass, Verdict
from demeanor.render import STYLES, Column, Screen, labelled, numbers as figures, paint, paragraph, table, wrapped
from demeanor.reports.run import exit_lines, phrases as words

_REASON_LINES = 8
_MOST_PARTS = 20


def rejudge_terminal(report: Rejudgement, screen: Screen | None = None) -> str:
    """Return the report as text for `screen`."""
    screen = screen or Screen()
    return paint((*_lines(report, screen), *exit_lines(report.exit_code, screen)), screen)


def rejudgement_text(report: Rejudgement, screen: Screen) -> str:
    """Return the report without its exit code, for a command that goes on."""
    return paint(_lines(report, screen), screen)


def _lines(report: Rejudgement, screen: Screen) -> Iterator[Text]:
    yield from paragraph(_headline(report), screen, "bold")
    if report.cells:
        yield Text()
        yield from table(_columns(report, screen), screen)
    yield from _section("Changed", list(_changes(report.changed, screen)))
    yield from _section("The same verdict, for other reasons", list(_changes(report.reworded, screen)))
    yield from _section("Can't be judged again", list(_refusals(report.refused, screen)))
    yield Text()
    yield from _labelled(
        "judged", f"by Demeanor {report.demeanor}, without agent{'' if report.asked else ' or model'}", screen
    )
    for folder in report.kept:
        yield from _labelled("kept in", folder, screen)
    for note in report.notes:
        yield from _labelled("note", one_line(note, width=400), screen)


def _headline(report: Rejudgement) -> str:
    of = report.runs[0] if len(report.runs) == 1 else count(len(report.runs), "run")
    parts = [f"{len(report.changed)} changed", f"{report.same} unchanged"]
    if report.refused:
        parts.append(f"{len(report.refused)} can't be judged again")
    return f"Judged again: {count(len(report.trials), 'trial')} of {of}: {', '.join(parts)}"


def _columns(report: Rejudgement, screen: Screen) -> Iterator[Column]:
    cells = sorted(report.cells, key=lambda cell: not cell.changed)

    def texts(title: str, lines: Iterable[str], *, rank: int = 0, comfort: int | None = None) -> Column:
        shown = [
            Text(screen.safe(text), "" if cell.changed else "dim") for text, cell in zip(lines, cells, strict=True)
        ]
        return Column(title=title, cells=shown, rank=rank, comfort=comfort, least=comfort and 8)

    if len(report.runs) > 1:
        yield texts("run", [cell.run for cell in cells], comfort=19)
    yield texts("eval", [one_line(cell.tally_after.eval, width=300) for cell in cells], comfort=24)
    yield texts("subject", [one_line(cell.tally_after.subject, width=300) for cell in cells], comfort=20, rank=7)
    yield texts("before", [_score(cell.tally_before) for cell in cells])
    yield texts("after", [_score(cell.tally_after) for cell in cells])
    if any(cell.tally_after.voided or cell.tally_before.voided for cell in cells):
        yield texts("void", [_both(cell.tally_before.voided, cell.tally_after.voided) for cell in cells], rank=5)
    if any(cell.refused for cell in cells):
        yield texts("left out", [str(cell.refused or "") for cell in cells], rank=6)
    if any(cell.tally_before.policy is not cell.tally_after.policy for cell in cells):
        policies = [_both(words.POLICIES[c.tally_before.policy], words.POLICIES[c.tally_after.policy]) for c in cells]
        yield texts("policy", policies, rank=4)
    yield Column(title="decision", cells=[_decision(cell, screen) for cell in cells])


def _decision(cell: CellComparison, screen: Screen) -> Text:
    was, now = cell.decision_before.answer, cell.decision_after.answer
    return Text(screen.safe(_both(was, now)), STYLES[now])


def _both(was: object, now: object) -> str:
    return f"{was}" if was == now else f"{was} → {now}"


def _score(tally: Tally) -> str:
    """Format a tally as `4/6, 67 % [30–90]`."""
    return f"{tally.passed}/{tally.judged}, {figures.rate(tally.rate)}" if tally.judged else "none judged"


def _section(title: str, parts: Sequence[list[Text]]) -> Iterator[Text]:
    if not parts:
        return
    yield Text()
    yield Text(title, "bold")
    for part in parts[:_MOST_PARTS]:
        yield from part
    if len(parts) > _MOST_PARTS:
        yield Text(f"  and {len(parts) - _MOST_PARTS} more: --json shows all", "dim")


def _changes(trials: Sequence[TrialComparison], screen: Screen) -> Iterator[list[Text]]:
    """Yield the changes, once for all trials of a cell with the same changes."""
    groups: dict[tuple[object, ...], list[TrialComparison]] = {}
    for trial in trials:
        if trial.after is not None:
            answers = tuple(_answers(change) for change in trial.changes)
            key = (trial.run, trial.eval, trial.subject, trial.before.outcome, trial.after.outcome, answers)
            groups.setdefault(key, []).append(trial)
    for own in groups.values():
        yield list(_change(own, screen))


def _answers(change: AnswerChange) -> tuple[str, str, str]:
    before = change.before.answer if change.before else ""
    after = change.after.answer if change.after else ""
    return change.check, before, after


def _change(own: Sequence[TrialComparison], screen: Screen) -> Iterator[Text]:
    first = own[0]
    if first.after is None:
        return
    name = f"  {one_line(first.eval)} · {one_line(first.subject)}  "
    which = figures.trials([trial.number for trial in own])
    outcome = _both(first.before.outcome, first.after.outcome)
    head = Text.assemble((screen.safe(name), "bold"), (screen.safe(outcome), STYLES[first.after.outcome]))
    yield from wrapped(head.append(screen.safe(f"  {which}"), "dim"), screen.width)
    for change in first.changes:
        yield from _answer(change, screen)
    if not first.changes:
        for label, verdict in (("was", first.before), ("is", first.after)):
            yield from _labelled(f"    {label}", _reason(verdict), screen)


def _answer(change: AnswerChange, screen: Screen) -> Iterator[Text]:
    before = change.before.answer if change.before else "not asked"
    after = change.after.answer if change.after else "no longer asked"
    yield from paragraph(f"{one_line(change.check)}: {_both(before, after)}", screen, indent=4)
    for label, finding in (("was", change.before), ("is", change.after)):
        if finding is not None and finding.answer != "yes" and finding.reason:
            yield from _labelled(f"      {label}", opening(finding.reason, lines=_REASON_LINES), screen)


def _reason(verdict: Verdict) -> str:
    return verdict.outcome if isinstance(verdict, Pass) else opening(verdict.reason, lines=_REASON_LINES)


def _refusals(trials: Sequence[TrialComparison], screen: Screen) -> Iterator[list[Text]]:
    groups: dict[tuple[str, str, str, str], list[int]] = {}
    for trial in trials:
        groups.setdefault((trial.run, trial.eval, trial.subject, trial.refusal), []).append(trial.number)
    for (_, name, subject, refusal), numbers in groups.items():
        head = Text(screen.safe(f"  {one_line(name)} · {one_line(subject)}  "), "bold")
        head.append(screen.safe(figures.trials(numbers)), "dim")
        yield [
            *wrapped(head, screen.width),
            *paragraph(one_line(refusal, width=400), screen, indent=4),
        ]


def _labelled(label: str, text: str, screen: Screen) -> list[Text]:
    lead = f"{label:<8}" if len(label) < 8 else f"{label}  "
    return labelled(lead, text, screen)
