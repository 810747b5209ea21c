"""`demeanor store import`: add results of other tools or machines to the history."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli import config_argument, load_config
from demeanor.core.text.wording import count
from demeanor.core.values.errors import UsageError
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.record import RunInfo

if TYPE_CHECKING:
    from demeanor.store import SqlHistory


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="vitest JSON reports, Cline's report.json, Harbor job folders, JUnit XML, Inspect logs, Demeanor runs,"
        " or a history (demeanor.db), which is copied",
    )
    parser.add_argument(
        "--kind", choices=("local", "ci", "nightly"), help="the kind of run (default: what the format suggests)"
    )
    parser.add_argument("--subject", metavar="AGENT:MODEL", help="the subject, if the files do not name one")
    parser.add_argument("--results", type=Path, metavar="DIR", help="folder of runs (default: results)")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Read all files first, then add them to the history; publish the captures of runs."""
    from demeanor.results import open_project_history
    from demeanor.runner import Catalog
    from demeanor.store import (
        RUN_FILE,
        ImportOptions,
        RunFolder,
        is_sqlite,
        open_capture_store,
        publish,
        read_imports,
        write_imports,
    )

    config = load_config(args)
    histories = [path for path in args.paths if is_sqlite(path)]
    if histories and (args.kind or args.subject):
        raise UsageError(f"{histories[0]}: a history is copied as it is\n  → leave out --kind and --subject")
    files = [path for path in args.paths if path not in histories]
    found = read_imports(files, ImportOptions(kind=args.kind, subject=args.subject))
    captures = open_capture_store(config)
    redactor = Catalog(config=config, environ=os.environ).redactor
    with open_project_history(config, os.environ, results=args.results, reading=False) as history:
        for path in histories:
            _copy(path, history)
        for one in write_imports(history.database, found, redactor):
            print(_line(one.imported.run, one.imported.origin, len(one.imported.records), one.new))
            for note in one.imported.notes:
                print(f"  {note}")
            folder = RunFolder(one.imported.source)
            if captures is not None and (folder.folder / RUN_FILE).is_file():
                number = publish(captures, folder, folder.records())
                print(f"  {count(number, 'capture')} in {captures.address}")
    return ExitCode.ACCEPTED


def _copy(path: Path, history: SqlHistory) -> None:
    """Copy the runs, decisions and notes of another history."""
    from demeanor.store import copy_decisions, copy_notes, copy_runs, open_history

    with open_history(str(path), reading=True) as source:
        for one in copy_runs(source, history):
            print(_line(one.run.info, one.run.origin, one.attempts, one.new))
        decisions, notes = copy_decisions(source, history), copy_notes(source, history)
        print(f"{path}: {count(decisions, 'decision')}" + (f", {count(notes, 'note')}" if notes else ""))


def _line(run: RunInfo, origin: str, attempts: int, new: int) -> str:
    added = f"{new} new" if new else "already there"
    return f"{run.id}  {origin}, {run.kind}: {count(attempts, 'attempt')}, {added}"
