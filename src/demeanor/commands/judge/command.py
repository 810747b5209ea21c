"""`demeanor judge`: measure the error rates of an eval's judge."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from demeanor.cli.options import config_argument, load_config, print_report
from demeanor.core.exit_code import ExitCode


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "action", choices=("calibrate",), help="calibrate: compare the judge's stored verdicts with human labels"
    )
    parser.add_argument("eval", metavar="EVAL", help="the eval's name; for an eval with cases, all cases with labels")
    parser.add_argument(
        "--labels",
        type=Path,
        metavar="FILE",
        help="a CSV file with the columns trial (EVAL/SUBJECT/N), label (good or bad) and run (default: the labels of"
        " `demeanor note`: real if the verdict is right, eval-bug if it is wrong)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON; one document for each case")
    parser.add_argument("--results", type=Path, metavar="DIR", help="folder for runs (default: results)")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Measure the error rates and store them."""
    from demeanor.reports.calibration.render import calibration_terminal
    from demeanor.reports.calibration.report import CALIBRATION_DOCUMENT
    from demeanor.reports.calibration.workflow import calibrate

    config = load_config(args)
    results = args.results or config.root / config.results
    reports = calibrate(args.eval, config, os.environ, results=results, labels=args.labels)
    for report in reports:
        print_report(args, report, CALIBRATION_DOCUMENT, calibration_terminal)
    codes = [report.exit_code for report in reports]
    return next((code for code in codes if code is not ExitCode.ACCEPTED), ExitCode.ACCEPTED)
