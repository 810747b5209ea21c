"""`demeanor validate --calibrate EVAL`: measure the error rates of an eval's judge."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli import print_report
from demeanor.core.values.exit_code import ExitCode

if TYPE_CHECKING:
    from demeanor.config import Config


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this form."""
    group = parser.add_argument_group("the judge of an eval (--calibrate)")
    group.add_argument(
        "--labels",
        type=Path,
        metavar="FILE",
        help="a CSV file with the columns trial (EVAL/SUBJECT/N), label (good or bad) and run (default: the labels of"
        " `demeanor trace --label`: real if the verdict is right, eval-bug if it is wrong)",
    )
    group.add_argument("--results", type=Path, metavar="DIR", help="folder for runs (default: results)")


def print_calibration(args: argparse.Namespace, config: Config) -> ExitCode:
    """Measure the error rates, store them and print them; as JSON, one document for each case."""
    from demeanor.reports.calibration import CALIBRATION_DOCUMENT, calibrate, calibration_terminal

    results = args.results or config.root / config.results
    reports = calibrate(args.calibrate, config, os.environ, results=results, labels=args.labels)
    for report in reports:
        print_report(args, report, CALIBRATION_DOCUMENT, calibration_terminal)
    codes = [report.exit_code for report in reports]
    return next((code for code in codes if code is not ExitCode.ACCEPTED), ExitCode.ACCEPTED)
