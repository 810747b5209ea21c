"""`demeanor run`: run evals and decide."""

from __future__ import annotations

import argparse

from demeanor.cli import intervention_arguments, run_arguments, run_evals
from demeanor.core.values.exit_code import ExitCode


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    how = run_arguments(parser)
    how.add_argument(
        "--policy",
        choices=("always", "all"),
        help="which policies to run (default: all; in CI always, unless you select evals by path, name, -k or suite, "
        "or set RUN_EVALS)",
    )
    intervention_arguments(how)
    how.add_argument("--fail-fast", action="store_true", help="start no further trial after the first failure")
    how.add_argument("--update-snapshots", action="store_true", help="write prompt snapshots instead of comparing them")
    how.add_argument(
        "--resume", metavar="RUN", help="run only the missing trials of an earlier run ('latest', a name or a path)"
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Plan, run, report."""
    return run_evals(args)
