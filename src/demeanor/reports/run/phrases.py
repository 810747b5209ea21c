"""Words and sentences that all report formats share."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from demeanor.core.text.wording import count, one_line
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.policy import Policy
from demeanor.core.values.record import Record
from demeanor.core.values.tally import CaseGroup, Status, Summary, Tally
from demeanor.render import numbers
from demeanor.reports.run.failure_groups import Failure
from demeanor.statistics import is_rough

if TYPE_CHECKING:
    from demeanor.reports.run.report import CellReport, Collection, RunReport

POLICIES: Mapping[Policy, str] = {
    Policy.ALWAYS_PASSES: "always",
    Policy.USUALLY_PASSES: "usually",
    Policy.USUALLY_FAILS: "usually fails",
}
"""Policies, short enough for a column."""

LAYERS: Mapping[int, str] = {2: "behaviour", 3: "whole task"}
"""The layers of the test pyramid that evals belong to."""

_NARROW = 100

MEANINGS: Mapping[ExitCode, str] = {
    ExitCode.ACCEPTED: "accepted, every eval that ran holds",
    ExitCode.REJECTED: "rejected, at least one eval does not hold",
    ExitCode.USAGE: "usage error, nothing was run",
    ExitCode.UNDECIDED: "undecided, nothing was rejected but a verdict is missing",
    ExitCode.INTERRUPTED: "interrupted, finished trials are kept",
}
"""What each exit code says about a run."""


_RESTART: Mapping[str, str] = {
    "continue the run: demeanor run --resume latest": "run the command again",
    "continue with a larger budget: demeanor run --resume latest": "run the command again with a larger budget:",
}

EXPECTED_FAIL = "expected fail"
NOT_RUN = "NOT RUN"
_LONGEST = 1000
_MOST_NAMED = 10


def status(cell: CellReport) -> str:
    """The status of a cell in a word or two; for USUALLY_FAILS, whether it failed as expected."""
    if cell.decision.news:
        return "NEWS"
    if cell.tally.policy is Policy.USUALLY_FAILS and cell.tally.judged:
        return EXPECTED_FAIL
    if cell.tally.missing and not cell.trials:
        return NOT_RUN
    return cell.tally.status.value


def policy_word(policy: Policy, width: int) -> str:
    """The policy for a column of a terminal of this width."""
    return "fails" if policy is Policy.USUALLY_FAILS and width < _NARROW else POLICIES[policy]


def outcomes(cell: CellReport) -> list[str]:
    """How each trial of a cell ended: pass, fail or void; missing if it was not run."""
    return [record.verdict.outcome for record in cell.trials] + ["missing"] * cell.tally.missing


ROUGH = "~ estimated from the pass rate, for lack of more trials"
"""What the mark of a rough estimate means."""


def shown_k(cells: Sequence[CellReport]) -> int:
    """The k of the columns pass@k and pass^k: 3, or less if no cell has three trials. 1 means that there are none,
    because every eval always passed or always failed, and they would only repeat the pass rate."""
    if not any(0 < cell.tally.passed < cell.tally.judged for cell in cells):
        return 1
    return min(3, max(sum(_sizes(cell)) for cell in cells))


def passes_of_k(cell: CellReport, k: int) -> tuple[str, str]:
    """pass@k and pass^k of a cell."""
    tally, rough = cell.tally, is_rough(cell.tally.judged, k)
    return numbers.of_k(tally.pass_at.get(k), rough=rough), numbers.of_k(tally.pass_hat.get(k), rough=rough)


def mean_passes_of_k(summary: Summary, cells: Sequence[CellReport], k: int) -> tuple[str, str]:
    """The means of pass@k and pass^k of a subject."""
    rough = any(is_rough(c.tally.judged, k) for c in cells if c.tally.policy is not Policy.USUALLY_FAILS)
    means = (summary.pass_at.get(k), summary.pass_hat.get(k))
    at, hat = (numbers.of_k(mean.value if mean else None, rough=rough) for mean in means)
    return at, hat


def headline(report: RunReport) -> str:
    """The outcome of a run in one sentence."""
    answers = [cell.decision.answer for cell in report.cells]
    ran = len(answers) - answers.count("skipped")
    without = answers.count("undecided")
    evals = count(ran, "eval") if len(report.summaries) <= 1 else f"{count(ran, 'cell')} ({_size(report)})"
    if report.exit_code is ExitCode.INTERRUPTED:
        return f"Interrupted: {count(_missing(report), 'trial')} not run"
    if report.exit_code is ExitCode.REJECTED:
        rejected = answers.count("reject")
        more = f", {without} without a verdict" if without else ""
        return f"Rejected: {rejected} of {evals} {'does' if rejected == 1 else 'do'} not hold{more}"
    if report.exit_code is ExitCode.ACCEPTED:
        only = "the only eval holds" if len(report.summaries) <= 1 else f"the only {evals.removeprefix('1 ')} holds"
        every = f"both {evals.removeprefix('2 ')}" if ran == 2 else f"all {evals}"
        return f"Accepted: {only if ran == 1 else f'{every} hold'}"
    if ran == 0:
        return "Undecided: nothing could be run"
    if report.run.lost:
        return f"Undecided: {report.run.lost[0]}, {count(_missing(report), 'trial')} not run"
    if without == 0 and _missing(report) == 0:
        return "Undecided: some evals could not be read; see the notes"
    if without == 0:
        return f"Undecided: the run was stopped, {count(_missing(report), 'trial')} not run"
    return f"Undecided: {without} of {evals} {'has' if without == 1 else 'have'} no verdict"


def _missing(report: RunReport) -> int:
    """The trials that were planned and not run."""
    return sum(cell.tally.missing for cell in report.cells)


def _size(report: RunReport) -> str:
    """`8 evals on 2 subjects`, of the cells that ran."""
    ran = [cell.tally for cell in report.cells if cell.decision.answer != "skipped"]
    evals, subjects = len({tally.eval for tally in ran}), len({tally.subject for tally in ran})
    return f"{count(evals, 'eval')} on {count(subjects, 'subject')}"


def trial_counts(report: RunReport) -> str:
    """`26 of 30 judged: 16 passed · 10 failed · 4 void; 2 cells skipped`."""
    tallies = [cell.tally for cell in report.cells if cell.tally.skipped is None]
    counts = {
        "passed": sum(tally.passed for tally in tallies),
        "failed": sum(tally.failed for tally in tallies),
        "void": sum(tally.voided for tally in tallies),
        "not run": sum(tally.missing for tally in tallies),
    }
    planned, judged = sum(counts.values()), counts["passed"] + counts["failed"]
    parts = " · ".join(f"{number} {word}" for word, number in counts.items() if number)
    left_out = f"; {count(len(skipped(report)), 'cell')} skipped" if skipped(report) else ""
    return (f"{judged} of {planned} judged: {parts}" if planned else "none") + left_out


def void_causes(tally: Tally) -> str:
    """The void trials of a cell by their causes: `2 provider, 1 stalled`."""
    return ", ".join(f"{number} {cause.replace('_', ' ')}" for cause, number in sorted(tally.void_causes.items()))


def known_bad(summary: Summary) -> str:
    """The rate of the evals that are known to fail, which is not part of the mean; empty if there are none."""
    if summary.known_bad_rate is None:
        return ""
    rate = numbers.rate(summary.known_bad_rate)
    return f"not in the mean: {count(summary.known_bad, 'USUALLY_FAILS eval')}, {rate}"


def case_group(group: CaseGroup) -> str:
    """All cases of one eval together, such as `renames: 86 % [62–100] over 4 cases, interval clustered by case`."""
    if group.rate is None:
        return f"{one_line(group.name)}: no case of {group.cases} was judged"
    missing = f" of {group.cases}" if group.judged < group.cases else ""
    cases = f"{group.judged}{missing} {'case' if group.judged == 1 and not missing else 'cases'}"
    return f"{one_line(group.name)}: {numbers.rate(group.rate)} over {cases}, interval clustered by case"


def expected(report: RunReport) -> list[CellReport]:
    """The cells that are USUALLY_FAILS and failed."""
    return [cell for cell in report.cells if status(cell) == EXPECTED_FAIL]


def layers(report: RunReport) -> str | None:
    """How many cells of each layer held; None if the run has no whole tasks, so that there is only one layer."""
    return held_by_layer((cell.layer, cell.decision.answer) for cell in report.cells)


def held_by_layer(cells: Iterable[tuple[int, str]]) -> str | None:
    """How many of some cells, given by layer and answer, held in each layer; None if there are no whole tasks."""
    by_layer: dict[int, list[str]] = {}
    for layer, answer in cells:
        by_layer.setdefault(layer, []).append(answer)
    if set(by_layer) <= {2}:
        return None
    parts = []
    for layer, answers in sorted(by_layer.items()):
        if ran := len(answers) - answers.count("skipped"):
            name = LAYERS[layer] if layer == 2 else f"{LAYERS[layer]}s"
            parts.append(f"layer {layer}, {name}: {answers.count('accept')} of {ran} held")
    return " · ".join(parts) or None


def reproduce(cell: CellReport) -> str:
    """The command that runs the cell again."""
    what = shlex.quote(one_line(f"{cell.source}::{cell.tally.eval}", width=_LONGEST))
    subject = shlex.quote(one_line(cell.tally.subject, width=_LONGEST))
    return f"demeanor run {what} --subject {subject} --trials 1"


def trace(trial: Record) -> str:
    """The command that shows what happened in a trial."""
    return f"demeanor trace {shlex.quote(one_line(trial.trial, width=_LONGEST))}"


def meaning(report: RunReport) -> str:
    """What the exit code says about this run."""
    if report.exit_code is ExitCode.ACCEPTED and not any(cell.records for cell in report.cells):
        return "accepted, nothing was run"
    return MEANINGS[report.exit_code]


def next_step(report: RunReport, *, resumable: bool = True) -> str | None:
    """The command to run next, if the failures do not name one. A gate can't be resumed, so it is started again."""
    if report.exit_code is ExitCode.INTERRUPTED:
        if not resumable:
            return "run the command again; a gate starts from its first trial, because it can't be resumed"
        return f"demeanor run --resume {shlex.quote(report.run.id)}"
    return None


def remedy(failure: Failure, *, resumable: bool) -> str:
    """What to do about void trials. A gate can't be resumed, so it is started again."""
    text = failure.remedy
    for resume, restart in () if resumable else _RESTART.items():
        text = text.replace(resume, restart)
    return text


def broken(report: RunReport) -> list[CellReport]:
    """The cells that were rejected."""
    return [cell for cell in report.cells if cell.decision.answer == "reject"]


def tolerated(report: RunReport) -> list[CellReport]:
    """The cells that were accepted although a trial failed, except USUALLY_FAILS."""
    return [
        cell
        for cell in report.cells
        if cell.decision.answer == "accept" and cell.tally.failed and cell.tally.policy is not Policy.USUALLY_FAILS
    ]


def news(report: RunReport) -> list[CellReport]:
    """The cells that are USUALLY_FAILS but passed."""
    return [cell for cell in report.cells if cell.decision.news]


def skipped(report: RunReport) -> list[CellReport]:
    """The cells that were skipped."""
    return [cell for cell in report.cells if cell.tally.status is Status.SKIPPED]


def _sizes(cell: CellReport) -> tuple[int, int, int]:
    return cell.tally.judged, cell.tally.voided, cell.tally.missing


def collection_line(collection: Collection) -> str:
    """The comparison in one sentence."""
    text = f"{count(collection.collected, 'eval')} collected"
    if collection.earlier is not None:
        text += f"; {collection.compared_with} had {collection.earlier}"
    if collection.removed:
        names = list(collection.removed)
        more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
        text += f"; removed: {', '.join(names[:_MOST_NAMED])}{more}"
    return text
