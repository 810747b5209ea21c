"""`demeanor report`: the report of a nightly run and the nights before it."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli.options import config_argument, load_config, positive_int
from demeanor.core.errors import UsageError
from demeanor.core.exit_code import ExitCode

if TYPE_CHECKING:
    from demeanor.config.config import Config
    from demeanor.core.history import PastRun
    from demeanor.core.ports import History
    from demeanor.reports.night.report import NightReport

_COMPACT_FROM_ROWS = 500
FORMATS = ("terminal", "markdown", "json", "junit", "html")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "run", nargs="?", metavar="RUN", help="a run's name or folder (default: the latest night, else the latest run)"
    )
    parser.add_argument("--format", choices=FORMATS, default="terminal", help="output format (default: terminal)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write to this file instead of printing")
    parser.add_argument(
        "--nights", type=positive_int, default=7, metavar="N", help="number of earlier nights to show (default: 7)"
    )
    parser.add_argument("--branch", metavar="NAME", help="only runs of this branch (default: all)")
    parser.add_argument(
        "--details", type=positive_int, default=20, metavar="N", help="number of failures to show in full (default: 20)"
    )
    parser.add_argument("--across", action="store_true", help="combine nights across changes of the subject (◆), too")
    parser.add_argument("--all", action="store_true", help="show every eval in the terminal report")
    parser.add_argument("--results", type=Path, metavar="DIR", help="folder for runs (default: results)")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Find the run and print its report."""
    from demeanor.reports.night.near import near_of_night
    from demeanor.reports.night.workflow import make_night_report
    from demeanor.results.history import open_project_history

    config = load_config(args)
    results = args.results or config.root / config.results
    with open_project_history(config, os.environ, results=results) as history:
        chosen = _chosen(history, args, results)
        report = make_night_report(
            history,
            chosen,
            nights=args.nights,
            branch=args.branch,
            details=args.details,
            across=args.across,
            needed=config.evidence.needed,
            near=near_of_night(history, chosen, config),
        )
        text = _text(args.format, report, history, config, results, args)
    if args.out is None:
        print(text, end="")
        return ExitCode.ACCEPTED
    try:
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"--out: {args.out} can't be written: {error.strerror}") from None
    sys.stderr.write(f"demeanor: written to {args.out}\n")
    return ExitCode.ACCEPTED


def _chosen(history: History, args: argparse.Namespace, results: Path) -> PastRun:
    """The run of the report; with --branch, it must be one of that branch."""
    from demeanor.results.runs import find_past_run

    found = find_past_run(history, args.run, branch=args.branch, results=results)
    if args.branch is not None and found.info.branch != args.branch:
        where = f"on {found.info.branch}" if found.info.branch else "on no branch"
        raise UsageError(f"--branch {args.branch}: {found.name} ran {where}\n  → leave out --branch, or the run")
    return found


def _text(
    how: str, report: NightReport, history: History, config: Config, results: Path, args: argparse.Namespace
) -> str:
    """The report in the given format; the renderers are imported lazily."""
    if how == "json":
        from demeanor.reports.night.report import NIGHTS_DOCUMENT

        rows = sum(len(subject.rows) for subject in report.subjects)
        return NIGHTS_DOCUMENT.write(report, compact=rows > _COMPACT_FROM_ROWS)
    if how == "junit":
        from demeanor.reports.night.junit import night_junit

        return night_junit(report)
    if how == "markdown":
        from demeanor.reports.night.markdown import night_markdown

        return night_markdown(report)
    if how == "html":
        from demeanor.reports.night.step_pairs import load_step_pairs
        from demeanor.web.night_html import night_html

        return night_html(report, load_step_pairs(history, report, config, results))
    from demeanor.render.terminal import Screen, screen_of
    from demeanor.reports.night.terminal import MOST_ROWS, night_terminal

    screen = Screen() if args.out else screen_of(sys.stdout)
    return night_terminal(report, screen, most_rows=10**9 if args.all else MOST_ROWS)
