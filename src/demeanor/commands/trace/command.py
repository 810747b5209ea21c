"""`demeanor trace`: show what happened in a trial, step by step."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.commands.options import config_argument, load_config
from demeanor.core.codec import encode
from demeanor.core.errors import UnknownName, UsageError
from demeanor.core.exit_code import ExitCode
from demeanor.core.record import Record
from demeanor.core.verdict import Pass

if TYPE_CHECKING:
    from demeanor.core.trajectory import Event
    from demeanor.store.runs.run_folder import RunFolder


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "trial",
        nargs="?",
        metavar="TRIAL",
        help="EVAL, EVAL/SUBJECT or EVAL/SUBJECT/N (default: the first trial of the run that did not pass)",
    )
    parser.add_argument("other", nargs="?", metavar="OTHER", help="a second trial to show side by side")
    parser.add_argument(
        "--diff", action="store_true", help="show it side by side with the most similar trial of its eval that passed"
    )
    parser.add_argument("--against", metavar="RUN", help="the run of the second trial (default: the same run)")
    parser.add_argument("--run", default="latest", metavar="RUN", help="a run's name or path (default: latest)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the folder of the runs (default: results)")
    parser.add_argument("--full", action="store_true", help="do not shorten long texts")
    parser.add_argument(
        "--json", action="store_true", help="print the events as JSON, one per line; for two trials, the aligned steps"
    )
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Find the trial, or both trials, and print them."""
    from demeanor.commands.trace.render import trace_text
    from demeanor.store.runs.run_dirs import find_run

    config = load_config(args)
    results = args.out or config.root / config.results
    store = find_run(results, args.run)
    record = find_record(store.records(), args.trial)
    if args.other or args.diff or args.against:
        other_store = find_run(results, args.against) if args.against else store
        _print_side_by_side(store, record, other_store, args)
        return ExitCode.ACCEPTED
    events = store.events(record)
    if args.json:
        print("\n".join(json.dumps(encode(event)) for event in events))
    else:
        print(trace_text(record, events, full=args.full))
        print(f"files: {store.folder / record.folder}")
    return ExitCode.ACCEPTED


def _print_side_by_side(store: RunFolder, record: Record, other_store: RunFolder, args: argparse.Namespace) -> None:
    from demeanor.commands.trace.render import trace_diff
    from demeanor.core.trajectory_diff import align
    from demeanor.render.terminal import screen_of

    events = store.events(record)
    other = (
        find_record(other_store.records(), args.other) if args.other else find_nearest_pass(record, events, other_store)
    )
    others = other_store.events(other)
    if args.json:
        print(json.dumps({"a": record.trial, "b": other.trial, "steps": encode(align(events, others))}, indent=2))
    else:
        print(trace_diff((record, events), (other, others), screen_of(sys.stdout), full=args.full))


def find_nearest_pass(record: Record, events: Sequence[Event], store: RunFolder) -> Record:
    """Return the most similar trial of the same eval that passed, preferably of the same subject."""
    from demeanor.commands.trace.divergence import nearest_pass
    from demeanor.commands.trace.trials import TrialSteps

    name = store.folder.name
    passed = [
        TrialSteps(run=name, record=one, events=store.events(one))
        for one in store.records()
        if one.eval == record.eval and isinstance(one.verdict, Pass) and one != record
    ]
    found = nearest_pass(TrialSteps(run=name, record=record, events=tuple(events)), passed)
    if found is None:
        raise UsageError(
            f"no other trial of {record.eval!r} passed in {store.folder.name}\n  → name another run: --against RUN"
        )
    return found.record


def find_record(records: Sequence[Record], trial: str | None) -> Record:
    """Return the first matching attempt that did not pass, or else the first matching attempt."""
    if not records:
        raise UsageError("this run has no trials yet")
    wanted = (trial or "").rstrip("/").replace("/trial-", "/")
    found = [record for record in records if not wanted or f"{record.trial}/".startswith(f"{wanted}/")]
    if not found:
        raise UnknownName("trial", wanted, {record.trial for record in records})
    found.sort(key=lambda record: (record.verdict.outcome == "pass", record.number, record.attempt))
    return found[0]
