"""`holdfast trace`: show what happened in a trial, step by step."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from holdfast.cli.common import config_argument, load_config
from holdfast.core.errors import UnknownName, UsageError
from holdfast.core.exit_code import ExitCode
from holdfast.core.record import Record


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "trial",
        nargs="?",
        metavar="TRIAL",
        help="EVAL, EVAL/SUBJECT or EVAL/SUBJECT/N (default: the first trial of the run that did not pass)",
    )
    parser.add_argument("--run", default="latest", metavar="RUN", help="a run's name or path (default: latest)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="folder that runs are kept in (default: results)")
    parser.add_argument("--full", action="store_true", help="cut nothing")
    parser.add_argument("--json", action="store_true", help="print the events as JSON, one per line")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Find the trial and print it."""
    from holdfast.report.trace import trace_text
    from holdfast.store.results import find_run

    config = load_config(args)
    store = find_run(args.out or config.root / config.results, args.run)
    record = find_record(store.records(), args.trial)
    events = store.events(record)
    if args.json:
        import json

        from holdfast.core.codec import encode

        print("\n".join(json.dumps(encode(event)) for event in events))
    else:
        print(trace_text(record, events, full=args.full))
        print(f"files: {store.folder / record.folder}")
    return ExitCode.ACCEPTED


def find_record(records: Sequence[Record], trial: str | None) -> Record:
    """The attempt that is meant: of those that match, the first that did not pass, or the first."""
    if not records:
        raise UsageError("this run holds no trials yet")
    wanted = (trial or "").rstrip("/").replace("/trial-", "/")
    found = [record for record in records if not wanted or f"{record.trial}/".startswith(f"{wanted}/")]
    if not found:
        raise UnknownName("trial", wanted, {record.trial for record in records})
    found.sort(key=lambda record: (record.verdict.outcome == "pass", record.number, record.attempt))
    return found[0]
