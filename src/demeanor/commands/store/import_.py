"""`demeanor store import`: add results of other tools or machines to the history."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli import config_argument, load_config, tell_skipped
from demeanor.core.text.wording import count
from demeanor.core.values.errors import UsageError
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.record import RunInfo

if TYPE_CHECKING:
    from demeanor.config import Config
    from demeanor.store.history import SqlHistory
    from demeanor.store.runs import RunFolder


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="vitest JSON reports, Cline's report.json, Harbor job folders, JUnit XML, Inspect logs, Demeanor runs,"
        " the shards of a run, which are joined and decided, or a history (demeanor.db), which is copied",
    )
    parser.add_argument(
        "--kind", choices=("local", "ci", "nightly"), help="the kind of run (default: what the format suggests)"
    )
    parser.add_argument("--subject", metavar="AGENT:MODEL", help="the subject, if the files do not name one")
    parser.add_argument("--results", type=Path, metavar="DIR", help="folder of runs (default: results)")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Read all files first, then add them to the history; publish the captures of runs."""
    from demeanor.reports.run import find_shards
    from demeanor.results import open_project_history
    from demeanor.runner import Catalog
    from demeanor.store.captures import open_capture_store, publish
    from demeanor.store.history import is_sqlite
    from demeanor.store.imports import ImportOptions, read_imports, write_imports
    from demeanor.store.runs import RUN_FILE, RunFolder

    config = load_config(args)
    if shards := find_shards(args.paths, alone=True):
        return _join(args, config, shards)
    histories = [path for path in args.paths if is_sqlite(path)]
    if histories and (args.kind or args.subject):
        raise UsageError(f"{histories[0]}: a history is copied as it is\n  → leave out --kind and --subject")
    files = [path for path in args.paths if path not in histories]
    imports = read_imports(files, ImportOptions(kind=args.kind, subject=args.subject))
    captures = open_capture_store(config)
    redactor = Catalog(config=config, environ=os.environ).redactor
    with open_project_history(config, os.environ, results=args.results, reading=False) as history:
        for path in histories:
            _copy(path, history)
        for written in write_imports(history.database, imports, redactor):
            print(_line(written.imported.run, written.imported.origin, len(written.imported.records), written.new))
            for note in written.imported.notes:
                print(f"  {note}")
            folder = RunFolder(written.imported.source)
            if captures is not None and (folder.folder / RUN_FILE).is_file():
                number = publish(captures, folder, folder.records())
                print(f"  {count(number, 'capture')} in {captures.address}")
    return ExitCode.ACCEPTED


def _join(args: argparse.Namespace, config: Config, shards: Sequence[RunFolder]) -> ExitCode:
    """Join the shards of a run, add it to the history, and decide as the run would have."""
    from demeanor.cli import log
    from demeanor.render import screen_of
    from demeanor.reports.night import prepare_shifts
    from demeanor.reports.run import compare_collection, conclude, join_shards, make_report, terminal_report
    from demeanor.results import open_project_history, request_of_run
    from demeanor.runner import Catalog, plan_evals, select_evals, usable_evals
    from demeanor.store.captures import open_capture_store, publish
    from demeanor.store.runs import sync_run

    if args.kind or args.subject:
        raise UsageError("--kind and --subject: shards are joined as they are\n  → leave these options out")
    request = replace(request_of_run(shards[0].info()), shard=None)
    if request.command != "run":
        raise UsageError(f"{shards[0].folder} is a shard of a gate\n  → demeanor gate --shard DIR joins and decides it")
    config = config.at_night() if request.kind == "nightly" else config
    results = args.results or config.root / config.results
    catalog = Catalog(config=config, environ=os.environ)
    paths = [str(config.root / path) for path in request.paths]
    evals, lacking = usable_evals(config, paths)
    skipped = tell_skipped(lacking)
    plan = plan_evals(catalog, select_evals(evals, request), request, os.environ)
    collection = compare_collection(config, evals, paths, os.environ, results)
    unread = tuple(map(catalog.redactor.text, skipped))
    joined = join_shards(shards, plan, config, results, unread=unread)
    with open_project_history(config, os.environ, results=results, reading=False) as history:
        sync_run(history.database, joined.folder)
    if (captures := open_capture_store(config)) is not None:
        publish(captures, joined.folder, joined.folder.records())
    report = make_report(joined.result, collection=collection)
    report = conclude(catalog, joined.result, report, environ=os.environ)
    if request.kind == "nightly":
        prepare_shifts(config, os.environ, results=results, log=log)
    print(terminal_report(report, screen_of(sys.stdout)), end="")
    return report.exit_code


def _copy(path: Path, history: SqlHistory) -> None:
    """Copy the runs, decisions and notes of another history."""
    from demeanor.store.history import copy_decisions, copy_notes, copy_runs, open_history

    with open_history(str(path), reading=True) as source:
        for copied in copy_runs(source, history):
            print(_line(copied.run.info, copied.run.origin, copied.attempts, copied.new))
        decisions, notes = copy_decisions(source, history), copy_notes(source, history)
        print(f"{path}: {count(decisions, 'decision')}" + (f", {count(notes, 'note')}" if notes else ""))


def _line(run: RunInfo, origin: str, attempts: int, new: int) -> str:
    added = f"{new} new" if new else "already there"
    return f"{run.id}  {origin}, {run.kind}: {count(attempts, 'attempt')}, {added}"
