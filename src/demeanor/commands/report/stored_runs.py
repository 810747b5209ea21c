"""`demeanor report --list`: the stored runs."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from demeanor.config import Config
    from demeanor.render import Screen

FORMATS = ("terminal",)
_MOST = 50


def arguments(parser: argparse.ArgumentParser) -> None:
    """This form has no options of its own."""


def text(args: argparse.Namespace, config: Config, results: Path, screen: Screen) -> str:
    """The names of the runs, newest first, which every command takes as RUN."""
    from rich.text import Text

    from demeanor.core.text.wording import count, one_line
    from demeanor.render import paint, table, text_column
    from demeanor.results import open_project_history

    with open_project_history(config, os.environ, results=results) as history:
        runs = history.runs(branch=args.branch)
    shown = runs[:_MOST]
    columns = (
        text_column("run", [one_line(run.name, width=200) for run in shown], screen),
        text_column("kind", [run.info.kind for run in shown], screen),
        text_column("branch", [one_line(run.info.branch or "", width=60) for run in shown], screen),
        text_column("commit", [(run.info.commit or "")[:10] for run in shown], screen),
        text_column("eval × subject", [str(run.cells) for run in shown], screen),
    )
    lines = [*table(columns, screen)]
    if len(runs) > len(shown):
        lines.append(Text(f"and {count(len(runs) - len(shown), 'older run')}", "dim"))
    return paint(lines, screen) if runs else "there is no run yet; demeanor run or demeanor nightly starts the first\n"
