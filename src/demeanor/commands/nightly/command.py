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
    if not args.dry_run:
        _keep_changes(args)
    return code


def _keep_changes(args: argparse.Namespace) -> None:
    """Find the changes of pass rates up to this night, where that takes long: its readers need not wait then."""
    from demeanor.cli import log
    from demeanor.reports.night import kept_shifts, shifts_are_ready
    from demeanor.results import nights_until, open_project_history

    config = load_config(args)
    try:
        with open_project_history(config, os.environ, results=args.results or config.root / config.results) as history:
            for run in history.runs(kind="nightly", limit=1):
                tonight = nights_until(history, run, 0)[-1]
                if not shifts_are_ready(history, tonight):
                    kept_shifts(history, tonight)
    except StoreError as error:
        log(f"the changes of pass rates are found by the first reader: {error}")


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
