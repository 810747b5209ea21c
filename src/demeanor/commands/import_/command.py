"""`demeanor import`: add results of other tools or machines to the history."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from demeanor.commands.options import config_argument, load_config
from demeanor.core.exit_code import ExitCode
from demeanor.core.text import count


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="vitest JSON reports, Cline's report.json, Harbor job folders, JUnit XML, Inspect logs, Demeanor runs",
    )
    parser.add_argument(
        "--kind", choices=("local", "ci", "nightly"), help="the kind of run (default: what the format suggests)"
    )
    parser.add_argument("--subject", metavar="AGENT:MODEL", help="the subject, if the files do not name one")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the folder of the runs (default: results)")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Read all files first, then add them to the history."""
    from demeanor.runner.history import open_project_history
    from demeanor.store.imports import ImportOptions, read_imports, write_imports

    config = load_config(args)
    found = read_imports(args.paths, ImportOptions(kind=args.kind, subject=args.subject))
    with open_project_history(config, os.environ, results=args.out, reading=False) as history:
        for one in write_imports(history.database, found):
            new = f"{one.new} new" if one.new else "already there"
            attempts = count(len(one.imported.records), "attempt")
            print(f"{one.name}  {one.imported.origin}, {one.imported.run.kind}: {attempts}, {new}")
            for note in one.imported.notes:
                print(f"  {note}")
    return ExitCode.ACCEPTED
