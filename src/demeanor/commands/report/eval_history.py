"""`demeanor report --eval EVAL`: the pass rate of an eval over time."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli import output_format

if TYPE_CHECKING:
    from demeanor.config import Config
    from demeanor.render import Screen

FORMATS = ("terminal", "json")


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of this form."""
    group = parser.add_argument_group("an eval over time (--eval)")
    group.add_argument("--subject", metavar="AGENT:MODEL", help="only this subject (default: all)")
    group.add_argument(
        "--kind", choices=("nightly", "ci", "local", "all"), help="which runs of the eval (default: nightly)"
    )


def text(args: argparse.Namespace, config: Config, results: Path, screen: Screen) -> str:
    """Read the history of the eval, and show it with its change points."""
    from demeanor.cli import log
    from demeanor.reports.eval_history import HISTORY_DOCUMENT, history_terminal, make_eval_history
    from demeanor.results import fetch_nights, open_project_history

    fetch_nights(config, os.environ, results, log)
    with open_project_history(config, os.environ, results=results) as history:
        past = make_eval_history(history, args.eval, args.subject, kind=args.kind or "nightly")
    return HISTORY_DOCUMENT.write(past) if output_format(args) == "json" else history_terminal(past, screen)
