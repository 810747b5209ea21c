"""`demeanor analyze`: pass@k, pass^k and flakiness of runs, and why trials did not pass."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from demeanor.cli.options import config_argument, load_config, positive_int, print_report
from demeanor.core.exit_code import ExitCode


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "runs",
        nargs="*",
        metavar="RUN|FILE",
        help="runs by name, or files and folders of any format that can be imported (default: the latest run)",
    )
    parser.add_argument(
        "--k",
        type=positive_int,
        action="append",
        default=[],
        metavar="N",
        help="for pass@k and pass^k; repeatable (default: 3)",
    )
    parser.add_argument(
        "--patterns", type=Path, action="append", default=[], metavar="FILE", help="known failures (YAML); repeatable"
    )
    parser.add_argument("--across", action="store_true", help="combine trials across changes of the subject (◆), too")
    parser.add_argument("--plug-in", action="store_true", help="show the plug-in forms of pass@k and pass^k (labelled)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--results", type=Path, metavar="DIR", help="folder for runs (default: results)")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Read the runs, analyse and print them."""
    from demeanor.reports.metrics.pattern_file import read_patterns
    from demeanor.reports.metrics.render import analysis_terminal
    from demeanor.reports.metrics.report import ANALYSIS_DOCUMENT, analysis
    from demeanor.reports.metrics.workflow import sources_of
    from demeanor.results.history import open_project_history

    config = load_config(args)
    patterns = [pattern for file in args.patterns for pattern in read_patterns(file)]
    results = args.results or config.root / config.results
    with open_project_history(config, os.environ, results=results) as history:
        sources = sources_of(history, args.runs, results)
    found = analysis(
        sources,
        ks=(1, *(args.k or (3,))),
        patterns=patterns,
        estimator="plug-in" if args.plug_in else "unbiased",
        across=args.across,
    )
    print_report(args, found, ANALYSIS_DOCUMENT, analysis_terminal)
    return ExitCode.ACCEPTED
