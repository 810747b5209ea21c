"""`demeanor nightly`: run all evals on all subjects, and keep it as a night."""

from __future__ import annotations

import argparse

from demeanor.commands.options import load_config
from demeanor.commands.run import command as run_command
from demeanor.core.errors import StoreError, UsageError
from demeanor.core.exit_code import ExitCode


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options: those of `demeanor run`, as far as they make sense."""
    how = run_command.run_arguments(parser)
    how.add_argument(
        "--resume",
        nargs="?",
        const="",
        metavar="RUN",
        help="do only what is missing of the last night, or of the one that is named",
    )
    parser.set_defaults(kind="nightly", policy="all")


def run(args: argparse.Namespace) -> ExitCode:
    """Run everything."""
    if args.resume == "":
        args.resume = _last_night(args)
    return run_command.run(args)


def _last_night(args: argparse.Namespace) -> str:
    """The latest run that is a night."""
    from demeanor.store.runs.run_dirs import runs
    from demeanor.store.runs.run_folder import RunFolder

    config = load_config(args)
    results = args.out or config.root / config.results
    for path in reversed(runs(results)):
        try:
            if RunFolder(path).info().kind == "nightly":
                return str(path)
        except StoreError:
            continue  # half a folder is no night
    raise UsageError(f"{results} holds no night that could be resumed\n  → demeanor nightly begins one")
