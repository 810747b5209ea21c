"""`demeanor history`: how the pass rate of an eval went over time."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from demeanor.commands.options import config_argument, load_config
from demeanor.core.exit_code import ExitCode


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("eval", metavar="EVAL", help="the eval's name")
    parser.add_argument("--subject", metavar="AGENT:MODEL", help="only this subject (default: all)")
    parser.add_argument(
        "--kind", choices=("nightly", "ci", "local", "all"), default="nightly", help="which runs (default: nightly)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--results", type=Path, metavar="DIR", help="folder that runs are kept in (default: results)")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Ask the history, find the change points, print."""
    from demeanor.commands.report.workflow import make_eval_course
    from demeanor.runner.history import open_project_history

    config = load_config(args)
    history = open_project_history(config, os.environ, results=args.results)
    try:
        found = make_eval_course(history, args.eval, args.subject, kind=args.kind)
    finally:
        history.close()
    if args.json:
        from demeanor.commands.history.report import HISTORY_DOCUMENT

        print(HISTORY_DOCUMENT.write(found), end="")
    else:
        from demeanor.commands.history.terminal import course_terminal
        from demeanor.render.terminal import screen_of

        print(course_terminal(found, screen_of(sys.stdout)), end="")
    return ExitCode.ACCEPTED
