"""`holdfast export`: write a run of the history for other tools."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from holdfast.cli.common import config_argument, load_config
from holdfast.core.exit_code import ExitCode


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("run", nargs="?", default="latest", metavar="RUN", help="a run's name (default: latest)")
    parser.add_argument(
        "--format",
        choices=("json", "csv", "parquet", "junit", "atif"),
        default="json",
        help="json can be imported again; atif writes a folder of trajectories (default: json)",
    )
    parser.add_argument("--out", type=Path, metavar="PATH", help="file or folder to write (default: print it)")
    parser.add_argument("--results", type=Path, metavar="DIR", help="folder that runs are kept in (default: results)")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Find the run and write it."""
    from holdfast import wiring

    config = load_config(args)
    history = wiring.history_of(config, os.environ, results=args.results)
    try:
        text, attempts = wiring.export(history, args.run, args.format, args.out)
    finally:
        history.close()
    if text is None:
        print(f"{args.out}: {attempts} attempts")
    else:
        sys.stdout.write(text)
    return ExitCode.ACCEPTED
