"""`demeanor nightly`: run all evals on all subjects and record the run as a night."""

from __future__ import annotations

import argparse
import os

from demeanor.cli import load_config, run_arguments, run_evals
from demeanor.core.values.errors import StoreError, UsageError
from demeanor.core.values.exit_code import ExitCode


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options: most of those of `demeanor run`."""
    how = run_arguments(parser)
    how.add_argument(
        "--resume",
        nargs="?",
        const="",
        metavar="RUN",
        help="run only the missing trials of the last night, or of the named one",
    )
    parser.set_defaults(kind="nightly", policy="all", edit_prompt=(), fail_fast=False, update_snapshots=False)


def run(args: argparse.Namespace) -> ExitCode:
    """Run all evals on all subjects."""
    if args.resume == "":
        args.resume = _last_night(args)
    code = run_evals(args)
    if not args.dry_run and args.shard is None:
        from demeanor.cli import log
        from demeanor.reports.night import prepare_shifts

        config = load_config(args)
        prepare_shifts(config, os.environ, results=args.results or config.root / config.results, log=log)
    return code


def _last_night(args: argparse.Namespace) -> str:
    """The latest nightly run."""
    from demeanor.store.runs import RunFolder, list_runs

    config = load_config(args)
    results = args.results or config.root / config.results
    for path in reversed(list_runs(results)):
        try:
            if RunFolder(path).info().kind == "nightly":
                return str(path)
        except StoreError:
            continue  # an incomplete run folder
    raise UsageError(f"{results} has no nightly run to resume\n  → start one with `demeanor nightly`")
