"""`demeanor watch`: judge stored trials again whenever an eval is edited."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from demeanor.cli.options import (
    choice_arguments,
    config_argument,
    load_config,
    positive_float,
    positive_int,
    subject_arguments,
)
from demeanor.core.errors import UsageError
from demeanor.core.exit_code import ExitCode
from demeanor.core.sandbox_spec import RANKS


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    choice_arguments(parser)
    runs = parser.add_argument_group("running agents")
    runs.add_argument(
        "--run",
        action="store_true",
        help="also run the edited evals whose stored trials can't be judged again; needs --budget-usd",
    )
    runs.add_argument(
        "--budget-usd",
        type=positive_float,
        metavar="USD",
        help="with --run: start no further trial once this much is spent, in all runs of this `watch` together",
    )
    runs.add_argument("--trials", type=positive_int, metavar="N", help="trials per eval and subject (default: 3)")
    subject_arguments(parser)
    parser.add_argument("--sandbox", choices=tuple(RANKS), help="sandbox of agents and of the commands of checks")
    parser.add_argument("--out", type=Path, metavar="DIR", help="results folder (default: results)")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Watch until Ctrl-C."""
    if args.run and args.budget_usd is None:
        raise UsageError("--run starts agents after every edit, so it needs a limit\n  → add --budget-usd 1")
    if args.budget_usd is not None and not args.run:
        raise UsageError("--budget-usd limits what agents spend, and none is started\n  → add --run")
    from demeanor.commands.rejudge.watching import watch

    watch(load_config(args), args, sys.stderr)
    return ExitCode.ACCEPTED
