"""`demeanor help schema`: print the JSON schema of a file or of a command's output."""

from __future__ import annotations

import argparse

from demeanor.core.values.exit_code import ExitCode


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="the schema, such as scenario (default: list them)")


def run(args: argparse.Namespace) -> ExitCode:
    """Print a schema, or the names of all."""
    from demeanor.cli import schemas
    from demeanor.core.values.errors import UnknownName

    files = schemas()
    if args.name is None:
        print("\n".join(files))
        return ExitCode.ACCEPTED
    if args.name not in files:
        raise UnknownName("schema", args.name, files)
    print(files[args.name].read_text("utf-8"), end="")
    return ExitCode.ACCEPTED
