"""`demeanor list`: show the evals that are defined."""

from __future__ import annotations

import argparse
import json
import sys

from demeanor.cli.options import choice_arguments, config_argument, load_config
from demeanor.core.exit_code import ExitCode


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    choice_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Load the evals, select some, and print them."""
    from demeanor.commands.validate.list_text import listing_json, listing_text
    from demeanor.render.terminal import screen_of
    from demeanor.runner.selection import choose_evals

    config = load_config(args)
    evals = choose_evals(
        config, paths=args.paths, names=args.scenario, keyword=args.keyword, suites=args.suite, tags=args.tag
    )
    if args.json:
        print(json.dumps(listing_json(evals, root=config.root), indent=2))
    else:
        print(listing_text(evals, root=config.root, width=screen_of(sys.stdout).width))
    return ExitCode.ACCEPTED
