"""`demeanor triage`: what went wrong in a run, in groups."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.commands.options import config_argument, load_config, positive_int
from demeanor.core.errors import UsageError
from demeanor.core.exit_code import ExitCode
from demeanor.core.text import count

if TYPE_CHECKING:
    from demeanor.commands.triage.report import Triage


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "run", nargs="?", default="latest", metavar="RUN", help="a run's name or folder (default: latest)"
    )
    parser.add_argument(
        "--against",
        metavar="RUN",
        help="where no trial of an eval has passed, look for one in this run (default: in the ten runs before)",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument(
        "--brief",
        type=positive_int,
        metavar="N",
        help="print group N as a task for an engineer or an agent, in markdown",
    )
    how.add_argument(
        "--format", choices=("terminal", "markdown"), default="terminal", help="how it is told (default: terminal)"
    )
    how.add_argument("--json", action="store_true", help="print the groups as JSON, and nothing else")
    parser.add_argument("--all", action="store_true", help="show every group on the screen, however many there are")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder that runs are kept in (default: results)")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Find the run, sort what went wrong in it, print."""
    from demeanor.commands.run.stored_runs import find_stored_run
    from demeanor.commands.triage.workflow import make_triage

    config = load_config(args)
    results = args.out or config.root / config.results
    kept = find_stored_run(args.run, results, config, os.environ)
    against = find_stored_run(args.against, results, config, os.environ) if args.against else None
    options = [
        word for name in ("config", "out") if getattr(args, name) for word in (f"--{name}", str(getattr(args, name)))
    ]
    print(_text(make_triage(kept, config, results, against=against, options=options), args), end="")
    return ExitCode.ACCEPTED


def _text(found: Triage, args: argparse.Namespace) -> str:
    if args.json:
        from demeanor.commands.triage.report import TRIAGE_DOCUMENT

        return TRIAGE_DOCUMENT.write(found)
    if args.brief is not None:
        from demeanor.commands.triage.brief import brief

        if args.brief > len(found.groups):
            groups = count(len(found.groups), "group")
            raise UsageError(f"--brief {args.brief}: {found.run} has {groups}\n  → demeanor triage shows them")
        return brief(found.groups[args.brief - 1])
    if args.format == "markdown":
        from demeanor.commands.triage.brief import briefs

        return briefs(found)
    from demeanor.commands.triage.terminal import MOST_GROUPS, triage_terminal
    from demeanor.render.terminal import screen_of

    return triage_terminal(found, screen_of(sys.stdout), most=10**9 if args.all else MOST_GROUPS)
