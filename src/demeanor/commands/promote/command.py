"""`demeanor promote`: which evals are ready for ALWAYS_PASSES, and with `--demote`, which fail too often for it?"""

from __future__ import annotations

import argparse

from demeanor.cli import refuse_misfits
from demeanor.commands.promote.apply import promotion_arguments, run_promotion, verification_arguments
from demeanor.core.values.exit_code import ExitCode

_OF_BOTH = {"evals", "demote", "rule", "apply", "json", "out", "config"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    promotion_arguments(parser)
    verification_arguments(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """List the evals to promote or demote, or apply the changes."""
    refuse_misfits(args, arguments, "--demote" if args.demote else "", {"": vars(args).keys() - _OF_BOTH})
    return run_promotion(args, "demote" if args.demote else "promote")
