"""Renders the report of a run as Markdown, summary.md, for the summary of a CI job or a comment.

First what most people need: the answer, a row for each eval with a column for each subject, and what broke with its
first line. The rest is folded. The size stays below what CI services accept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from demeanor.core.text.wording import count, one_line, opening
from demeanor.core.values.tally import Summary
from demeanor.render import code_block, escape, fit, headline, inline_code, numbers as figures, prose, table_row
from demeanor.reports.run import phrases as words
from demeanor.reports.run.failure_groups import Failure, failures, otherwise_void, start_failures, voids
from demeanor.reports.run.report import CellReport, RunReport

_MARKS = {"pass": "✓", "fail": "✗", "void": "○", "missing": "·"}
_MOST_BYTES = 900_000
_REASON_LINES = 40


def markdown(report: RunReport, *, most_bytes: int = _MOST_BYTES, lead: str = "") -> str:
    """The report as Markdown of about `most_bytes` bytes at most; details that do not fit are left out.

    `lead` is another report of the same run, which takes the place of the answer and of the tables."""
    parts = [lead.rstrip("\n")] if lead else [headline(words.headline(report), report.exit_code), _overview(report)]
    if broken := "" if lead else _broken(report):
        parts.append(broken)
    parts += fit(
        [*_details(report), *([] if lead else [_tables(report)])],
        most_bytes - sum(len(part.encode()) for part in parts),
        remedy="sections, see report.json.",
    )
    parts.append("\n".join(_footer(report)))
    return "\n\n".join(parts) + "\n"


def _overview(report: RunReport) -> str:
    """A row for each eval, a column for each subject: the marks of the trials, and the rate."""
    cells: dict[str, dict[str, CellReport]] = {}
    for cell in report.cells:
        cells.setdefault(cell.tally.eval, {})[cell.tally.subject] = cell
    subjects = [summary.subject for summary in report.summaries]
    lines = [
        table_row(["Eval", "Policy", *map(_code, subjects)]),
        table_row(["---"] * (2 + len(subjects))),
    ]
    for name, row in cells.items():
        policies = dict.fromkeys(words.POLICIES[cell.tally.policy] for cell in row.values())
        outcomes = [_outcome(row[subject]) if subject in row else "" for subject in subjects]
        lines.append(table_row([_code(name), ", ".join(policies), *outcomes]))
    if len(cells) > 1:
        means = [figures.rate(summary.rate) if summary.judged else "" for summary in report.summaries]
        lines.append(table_row(["mean", "", *means]))
    return "\n".join(lines)


def _outcome(cell: CellReport) -> str:
    """A cell in the overview; its word only where the trials don't say it all."""
    word, tally = words.status(cell), cell.tally
    if tally.attempts == 0:
        return word
    rate = f"{_trials(words.outcomes(cell))} {figures.rate(tally.rate)}"
    if cell.decision.answer in {"reject", "undecided"} or cell.decision.news:
        return f"**{word}** {rate}"
    return rate if cell.decision.answer == "accept" and not tally.failed else f"{word} {rate}"


def _broken(report: RunReport) -> str:
    """What broke, each with the first line of its first failure."""
    lines = []
    for cell in words.broken(report):
        reasons = [one_line(failure.reason.partition("\n")[0], width=200) for failure in failures(cell)[:1]]
        quoted = "".join(f". {_code(reason)}" for reason in reasons)
        lines.append(f"- {_code(cell.tally.eval)} · {_code(cell.tally.subject)}: {prose(cell.decision.reason)}{quoted}")
    return "\n".join(["### What broke\n", *lines]) if lines else ""


def _tables(report: RunReport) -> str:
    """All columns, folded: a table for each subject."""
    tables = "\n\n".join("\n".join(_table(report, summary)) for summary in report.summaries)
    return f"<details>\n<summary>Intervals, time and cost</summary>\n\n{tables}\n\n</details>"


def _table(report: RunReport, summary: Summary) -> Iterator[str]:
    cells = report.of_subject(summary.subject)
    k = words.shown_k(cells)
    ks = [f"pass@{k}", f"pass^{k}"] if k > 1 else []
    head = ["Status", "Eval", "Policy", "Trials", "Pass rate [95 %]", *ks, "Time", "Tokens", "Cost"]
    yield f"#### {_code(summary.subject)}\n"
    yield table_row(head)
    yield table_row(["---", "---", "---", "---", *["--:"] * (len(head) - 4)])
    for cell in cells:
        yield table_row(_cells(cell, k))
    if summary.judged > 1:
        means = words.mean_passes_of_k(summary, cells, k) if k > 1 else ()
        name = f"mean of {count(summary.judged, 'eval')}"
        yield table_row(["", name, "", "", figures.rate(summary.rate), *means, "", "", ""])
    if k > 1 and any("~" in value for cell in cells for value in words.passes_of_k(cell, k)):
        yield f"\n{words.ROUGH}"
    for group in report.case_groups:
        if group.subject == summary.subject:
            yield f"\n{words.case_group(group)}"
    if summary.known_bad:
        yield f"\n{words.known_bad(summary).capitalize()}."


def _cells(cell: CellReport, k: int) -> list[str]:
    tally, word = cell.tally, words.status(cell)
    first = [
        f"**{word}**" if cell.decision.answer in {"reject", "undecided"} or cell.decision.news else word,
        _code(tally.eval),
        words.POLICIES[tally.policy],
        _trials(words.outcomes(cell)),
    ]
    if tally.attempts == 0:
        return [*first, *[""] * (6 if k > 1 else 4)]
    passes = words.passes_of_k(cell, k) if k > 1 else ()
    spent = tally.spent
    used = [
        figures.duration(spent.seconds),
        figures.tokens(spent, tally.uncounted),
        figures.money(spent, tally.unpriced),
    ]
    voids = f" (void: {words.void_causes(tally)})" if tally.voided else ""
    return [*first, figures.rate(tally.rate) + voids, *passes, *used]


def _details(report: RunReport) -> Iterator[str]:
    """One part per cell, the most important first."""
    for cell in (*words.broken(report), *words.tolerated(report)):
        yield "\n".join(_folded(cell, cell.decision.reason, failures(cell), command=True))
    for index, failure in enumerate(start_failures(report)):
        heading = "### Agents that did not start\n\n" if index == 0 else ""
        trials, evals = count(len(failure.trials), "trial"), count(failure.evals, "eval")
        reason = code_block(opening(failure.reason, lines=_REASON_LINES))
        yield f"{heading}{_code(failure.subject)}: {trials} of {evals} void; see `demeanor doctor`\n\n{reason}\n"
    for cell in otherwise_void(report):
        sentence = f"{cell.tally.voided} of {count(len(cell.trials), 'trial')} void: run, but not judged"
        yield "\n".join(_folded(cell, sentence, voids(cell), command=False))
    yield from _listed("Expected to fail", ((cell, cell.decision.reason) for cell in words.expected(report)))
    yield from _listed("News", ((cell, cell.decision.reason) for cell in words.news(report)))
    yield from _listed("Skipped", ((cell, cell.tally.skipped or "") for cell in words.skipped(report)))


def _folded(cell: CellReport, sentence: str, failures: Sequence[Failure], *, command: bool) -> Iterator[str]:
    """A cell in a collapsed section."""
    name, subject = escape(one_line(cell.tally.eval, width=300)), escape(one_line(cell.tally.subject, width=300))
    yield "<details>"
    yield f"<summary><code>{name}</code> · <code>{subject}</code>: {escape(one_line(sentence))}</summary>\n"
    for failure in failures:
        folder = failure.trials[0].folder
        yield figures.trials(failure.numbers).capitalize() + (f", kept in {_code(folder)}:\n" if folder else ":\n")
        calls = [
            f"calls {figures.numbers(n)}: {one_line(chain, width=400)}" for chain, n in failure.chains.items() if chain
        ]
        yield code_block("\n".join([opening(failure.reason, lines=_REASON_LINES), *calls])) + "\n"
    if command:
        yield "To run it again:\n\n" + code_block(words.reproduce(cell)) + "\n"
    yield "</details>"


def _listed(title: str, cells: Iterable[tuple[CellReport, str]]) -> Iterator[str]:
    lines = [f"- {_code(cell.tally.eval)} · {_code(cell.tally.subject)}: {prose(text)}" for cell, text in cells]
    if lines:
        yield f"### {title}\n\n" + "\n".join(lines)


def _footer(report: RunReport) -> Iterator[str]:
    spent, unpriced, uncounted = report.total
    used = [
        f"{figures.duration(report.seconds)} wall time",
        f"{figures.tokens(spent, uncounted)} tokens",
        f"{figures.money(spent, unpriced)} cost",
    ]
    yield f"Exit code {int(report.exit_code)}: {words.meaning(report)}. " + ", ".join(used) + "."
    yield f"Trials: {words.trial_counts(report)}."
    origin = [f"Run {_code(report.run.id)}", f"Demeanor {_code(report.run.demeanor)}"]
    if report.run.commit:
        changed = " with uncommitted changes" if report.run.dirty else ""
        origin.append(f"commit {_code(report.run.commit)}{changed}")
    yield ", ".join(origin) + (f", kept in {_code(report.folder)}" if report.folder else "") + "."
    if report.collection is not None:
        yield f"\n{prose(words.collection_line(report.collection))}."
    if layers := words.layers(report):
        yield f"\n{layers[0].upper()}{layers[1:]}."
    for note in report.notes:
        yield f"\nNote: {prose(note)}"


def _trials(outcomes: Sequence[str]) -> str:
    if len(outcomes) <= 12:
        return "".join(_MARKS[outcome] for outcome in outcomes)
    return " ".join(f"{outcomes.count(name)}{sign}" for name, sign in _MARKS.items() if name in outcomes)


def _code(text: str) -> str:
    return inline_code(text, width=300)
