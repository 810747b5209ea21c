"""`demeanor help commands`: the options of all commands."""

from __future__ import annotations

import argparse

from demeanor.core.values.exit_code import ExitCode


def arguments(parser: argparse.ArgumentParser) -> None:
    """There are none."""


def run(_args: argparse.Namespace) -> ExitCode:
    """Print the help of every command and sub-command."""
    from demeanor.cli import all_commands, parser_of, program_help
    from demeanor.render import show_text

    show_text("\n\n".join([program_help(), *(parser_of(name).format_help() for name in all_commands())]))
    return ExitCode.ACCEPTED
