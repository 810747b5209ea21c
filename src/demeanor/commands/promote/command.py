"""`demeanor promote`: which evals are ready for ALWAYS_PASSES?"""

from __future__ import annotations

import argparse

from demeanor.commands.promote.apply import promotion_arguments, run_promotion, verification_arguments
from demeanor.core.exit_code import ExitCode


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    promotion_arguments(parser, "classic (default) or sprt")
    parser.add_argument("--across", action="store_true", help="count nights across changes of the subject (◆), too")
    verification_arguments(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """List the evals to promote, or apply the changes."""
    return run_promotion(args, "promote")
