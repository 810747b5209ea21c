"""`demeanor harbor`: show which Harbor runs whole tasks, or install one."""

from __future__ import annotations

import argparse
import os
import sys

from demeanor.commands.options import config_argument, load_config
from demeanor.core.errors import UsageError
from demeanor.core.exit_code import ExitCode


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "action",
        choices=("show", "install"),
        nargs="?",
        default="show",
        help="show the Harbor in use (default), or install one into its own folder; needs Python 3.12 or later",
    )
    parser.add_argument(
        "version", nargs="?", metavar="VERSION", help="the exact version to install (default: the tested one)"
    )
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Show or install Harbor."""
    from demeanor.runner.tasks import find_harbor, harbor_problem, harbor_version

    if args.action == "install":
        return _install(args.version)
    config = load_config(args)
    if problem := harbor_problem(config, os.environ):
        raise UsageError(problem)
    words = find_harbor(config, os.environ)
    print(f"harbor {harbor_version(words)}  {' '.join(words)}")
    return ExitCode.ACCEPTED


def _install(version: str | None) -> ExitCode:
    from demeanor.agents.folders import agents_folder
    from demeanor.agents.install import install_package
    from demeanor.runner.tasks import HARBOR

    program = install_package("harbor", HARBOR, version, agents_folder(os.environ), os.environ, _show_progress)
    print(f"harbor is ready: {program}")
    return ExitCode.ACCEPTED


def _show_progress(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
