"""`demeanor report [RUN ...] --metrics`: pass@k, pass^k and flakiness of runs, and why trials did not pass."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli import output_format, positive_int

if TYPE_CHECKING:
    from demeanor.config import Config
    from demeanor.render import Screen

FORMATS = ("terminal", "json")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this form."""
    group = parser.add_argument_group("metrics of runs (--metrics)")
    group.add_argument(
        "--k",
        type=positive_int,
        action="append",
        default=[],
        metavar="N",
        help="for pass@k and pass^k; repeatable (default: 3)",
    )
    group.add_argument(
        "--patterns", type=Path, action="append", default=[], metavar="FILE", help="known failures (YAML); repeatable"
    )


def text(args: argparse.Namespace, config: Config, results: Path, screen: Screen) -> str:
    """Read the runs, and show their metrics."""
    from demeanor.reports.metrics import ANALYSIS_DOCUMENT, analysis, analysis_terminal, read_patterns, sources_of
    from demeanor.results import open_project_history

    patterns = [pattern for file in args.patterns for pattern in read_patterns(file)]
    with open_project_history(config, os.environ, results=results) as history:
        sources = sources_of(history, args.runs, results)
    numbers = analysis(sources, ks=(1, *(args.k or (3,))), patterns=patterns)
    return ANALYSIS_DOCUMENT.write(numbers) if output_format(args) == "json" else analysis_terminal(numbers, screen)
