"""`demeanor export`: write a run of the history for other tools, or an eval as a task of Harbor."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.commands.options import config_argument, load_config
from demeanor.core.exit_code import ExitCode

if TYPE_CHECKING:
    from demeanor.config.config import Config
    from demeanor.core.eval import Eval


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument("run", nargs="?", default="latest", metavar="RUN", help="a run's name (default: latest)")
    parser.add_argument(
        "--format",
        choices=("json", "csv", "parquet", "junit", "atif"),
        default="json",
        help="json can be imported again; atif writes a folder of trajectories (default: json)",
    )
    parser.add_argument(
        "--out", type=Path, metavar="PATH", help="file or folder to write (default: print it; of tasks: tasks)"
    )
    parser.add_argument("--results", type=Path, metavar="DIR", help="folder that runs are kept in (default: results)")
    tasks = parser.add_argument_group("evals as tasks of Harbor, instead of a run (docs/harbor.md)")
    tasks.add_argument(
        "--harbor",
        action="append",
        default=[],
        metavar="EVAL",
        help="write this eval (a name, or FILE::NAME, or a folder) as a task below --out; repeatable",
    )
    tasks.add_argument("--org", default="local", help="who publishes it: the first half of its name (default: local)")
    tasks.add_argument(
        "--image", default="python:3.12-slim", help="what its machine is made from (default: %(default)s)"
    )
    tasks.add_argument("--partial", action="store_true", help="leave out what only Demeanor can check, and say so")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Find the run and write it."""
    from demeanor.commands.export.workflow import export
    from demeanor.runner.history import open_project_history

    config = load_config(args)
    if args.harbor:
        return _tasks(config, args)
    history = open_project_history(config, os.environ, results=args.results)
    try:
        text, attempts = export(history, args.run, args.format, args.out)
    finally:
        history.close()
    if text is None:
        print(f"{args.out}: {attempts} attempts")
    else:
        sys.stdout.write(text)
    return ExitCode.ACCEPTED


def _tasks(config: Config, args: argparse.Namespace) -> ExitCode:
    """Write evals as tasks; the first that can't be one stops it."""
    from demeanor.commands.export.harbor_task import export_task
    from demeanor.runner.plan import choose_evals

    evals: list[Eval] = []
    for named in args.harbor:
        path = "::" in named or Path(named).exists()
        evals += choose_evals(config, paths=[named] if path else (), names=() if path else (named,))
    for one in evals:
        done = export_task(one, args.out or Path("tasks"), org=args.org, image=args.image, partial=args.partial)
        print(f"{done.folder}: written; `demeanor validate {done.folder}` proves it")
        for reason in done.left_out:
            print(f"  left out: {reason}")
        if not done.solution:
            print("  without a solution: the eval names no behaviour that passes (passes_on)")
    return ExitCode.ACCEPTED
