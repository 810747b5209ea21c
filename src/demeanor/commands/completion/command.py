"""`demeanor completion`: print a completion script for the shell, generated from the options."""

from __future__ import annotations

import argparse

from demeanor.core.exit_code import ExitCode

_SHELLS = ("bash", "zsh", "tcsh", "fish")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("shell", choices=_SHELLS, help='for example: eval "$(demeanor completion bash)"')


def run(args: argparse.Namespace) -> ExitCode:
    """Print the script."""
    import shtab

    from demeanor.commands.registry import make_parser

    print(shtab.complete(make_parser(), shell=args.shell))
    return ExitCode.ACCEPTED
