"""`demeanor promote`: which evals have earned ALWAYS_PASSES?"""

from __future__ import annotations

import argparse

from demeanor.commands.promote.apply import promotion_arguments, run_promotion
from demeanor.core.exit_code import ExitCode


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    promotion_arguments(parser, "seed (default) or sprt")


def run(args: argparse.Namespace) -> ExitCode:
    """Ask the nights."""
    return run_promotion(args, "promote")
