"""`demeanor report [RUN]`: a night and the nights before it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli import positive_int
from demeanor.core.text.wording import one_line
from demeanor.core.values.errors import DemeanorError, UsageError

if TYPE_CHECKING:
    from demeanor.config import Config
    from demeanor.core.values.history import PastRun
    from demeanor.core.values.ports import History
    from demeanor.render import Screen
    from demeanor.reports.night import NightReport

FORMATS = ("terminal", "markdown", "json", "junit", "html")
_NIGHTS, _DETAILS = 7, 20
_COMPACT_FROM_ROWS = 500
_LINES, _WIDTH = 10, 300
"""Changed lines of a prompt that are shown, and how much of each."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this form."""
    group = parser.add_argument_group("a night")
    group.add_argument(
        "--nights", type=positive_int, metavar="N", help=f"number of earlier nights to show (default: {_NIGHTS})"
    )
    group.add_argument("--branch", metavar="NAME", help="only runs of this branch (default: all)")
    group.add_argument(
        "--details", type=positive_int, metavar="N", help=f"number of failures to show in full (default: {_DETAILS})"
    )


def text(args: argparse.Namespace, config: Config, results: Path, screen: Screen) -> str:
    """Find the run, and show it with the nights before it."""
    from demeanor.cli import log
    from demeanor.reports.night import make_night_report, near_of_night
    from demeanor.results import fetch_nights, open_project_history

    fetch_nights(config, os.environ, results, log)
    with open_project_history(config, os.environ, results=results) as history:
        chosen = _chosen(history, args, results)
        report = make_night_report(
            history,
            chosen,
            config,
            nights=args.nights or _NIGHTS,
            branch=args.branch,
            details=args.details or _DETAILS,
            near=near_of_night(history, chosen, config),
        )
        report = replace(report, notes=(*report.notes, *_prompt_changes(report, config, results)))
        return _in_format(args, report, history, config, results, screen)


def _prompt_changes(report: NightReport, config: Config, results: Path) -> Iterator[str]:
    """What is new and gone in the prompt and tools of each subject since the night before, where both are stored."""
    from demeanor.results import changed_instructions, find_stored_run

    tonight = report.nights[-1].name
    for nights in report.subjects:
        names = [change.evals[0] for change in nights.changes if (change.run, change.part) == (tonight, "prompt")]
        if not names or len(report.nights) == 1:
            continue
        runs = (report.nights[-2].name, tonight)
        try:
            before, after = (find_stored_run(name, results, config, os.environ) for name in runs)
            lines = changed_instructions(before, after, f"{names[0]}/{nights.subject}", config)
        except DemeanorError:  # a run or its captures are not here any more
            continue
        yield from (f"prompt of {nights.subject}: {one_line(line, width=_WIDTH)}" for line in lines[:_LINES])
        if len(lines) > _LINES:
            yield f"prompt of {nights.subject}: and {len(lines) - _LINES} more: demeanor trace --prompt --run {tonight}"


def _chosen(history: History, args: argparse.Namespace, results: Path) -> PastRun:
    """The run of the report; with --branch, it must be one of that branch."""
    from demeanor.results import find_past_run

    run = find_past_run(history, args.runs[0] if args.runs else None, branch=args.branch, results=results)
    if args.branch is not None and run.info.branch != args.branch:
        where = f"on {run.info.branch}" if run.info.branch else "on no branch"
        raise UsageError(f"--branch {args.branch}: {run.name} ran {where}\n  → leave out --branch, or the run")
    return run


def _in_format(
    args: argparse.Namespace, report: NightReport, history: History, config: Config, results: Path, screen: Screen
) -> str:
    """The report in the chosen format; the renderers are imported lazily."""
    from demeanor.cli import output_format

    how = output_format(args)
    if how == "json":
        from demeanor.reports.night import NIGHTS_DOCUMENT

        rows = sum(len(subject.rows) for subject in report.subjects)
        return NIGHTS_DOCUMENT.write(report, compact=rows > _COMPACT_FROM_ROWS)
    if how == "junit":
        from demeanor.reports.night import night_junit

        return night_junit(report)
    if how == "markdown":
        from demeanor.reports.night import night_markdown

        return night_markdown(report)
    if how == "html":
        from demeanor.reports.night import load_step_pairs
        from demeanor.web import night_html

        return night_html(report, load_step_pairs(history, report, config, results))
    from demeanor.reports.night import MOST_ROWS, night_terminal

    return night_terminal(report, screen, most_rows=10**9 if args.all else MOST_ROWS)
