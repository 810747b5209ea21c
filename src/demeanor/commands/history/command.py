"""`demeanor history`: the pass rate of an eval over time."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from demeanor.cli.options import config_argument, load_config, print_report
from demeanor.core.exit_code import ExitCode


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("eval", metavar="EVAL", help="the eval's name")
    parser.add_argument("--subject", metavar="AGENT:MODEL", help="only this subject (default: all)")
    parser.add_argument(
        "--kind", choices=("nightly", "ci", "local", "all"), default="nightly", help="which runs (default: nightly)"
    )
    parser.add_argument("--across", action="store_true", help="combine runs across changes of the subject (◆), too")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--results", type=Path, metavar="DIR", help="folder for runs (default: results)")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Read the history, find the change points and print them."""
    from demeanor.reports.eval_history.render import history_terminal
    from demeanor.reports.eval_history.report import HISTORY_DOCUMENT
    from demeanor.reports.eval_history.workflow import make_eval_history
    from demeanor.results.history import open_project_history

    config = load_config(args)
    with open_project_history(config, os.environ, results=args.results) as history:
        found = make_eval_history(history, args.eval, args.subject, kind=args.kind, across=args.across)
    print_report(args, found, HISTORY_DOCUMENT, history_terminal)
    return ExitCode.ACCEPTED
