"""`demeanor triage`: group the failures of a run."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli.options import config_argument, load_config, positive_int
from demeanor.core.errors import UsageError
from demeanor.core.exit_code import ExitCode
from demeanor.core.text import count

if TYPE_CHECKING:
    from demeanor.reports.failures.report import Triage


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "run", nargs="?", default="latest", metavar="RUN", help="a run's name or folder (default: latest)"
    )
    parser.add_argument(
        "--against",
        metavar="RUN",
        help="when no trial of an eval passed, take a passing one from this run (default: from the ten runs before)",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--brief",
        type=positive_int,
        metavar="N",
        help="print group N as a task for an engineer or an agent, in markdown",
    )
    how.add_argument(
        "--format", choices=("terminal", "markdown"), default="terminal", help="output format (default: terminal)"
    )
    how.add_argument("--json", action="store_true", help="print the groups as JSON, and nothing else")
    parser.add_argument("--all", action="store_true", help="show every group on the terminal, not only the first 20")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the folder of the runs (default: results)")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Find the run, group its failures, and print the groups."""
    from demeanor.reports.failures.workflow import make_triage
    from demeanor.results.stored_runs import find_stored_run

    config = load_config(args)
    results = args.out or config.root / config.results
    stored = find_stored_run(args.run, results, config, os.environ)
    against = find_stored_run(args.against, results, config, os.environ) if args.against else None
    options = [
        word for name in ("config", "out") if getattr(args, name) for word in (f"--{name}", str(getattr(args, name)))
    ]
    print(_text(make_triage(stored, config, os.environ, results, against=against, options=options), args), end="")
    return ExitCode.ACCEPTED


def _text(triage: Triage, args: argparse.Namespace) -> str:
    from demeanor.render.terminal import screen_of
    from demeanor.reports.failures.render import MOST_GROUPS, group_brief, triage_markdown, triage_terminal
    from demeanor.reports.failures.report import TRIAGE_DOCUMENT

    if args.json:
        return TRIAGE_DOCUMENT.write(triage)
    if args.brief is not None:
        if args.brief > len(triage.groups):
            groups = count(len(triage.groups), "group")
            raise UsageError(f"--brief {args.brief}: {triage.run} has {groups}\n  → list them with: demeanor triage")
        return group_brief(triage.groups[args.brief - 1])
    if args.format == "markdown":
        return triage_markdown(triage)
    return triage_terminal(triage, screen_of(sys.stdout), most=10**9 if args.all else MOST_GROUPS)
