"""`demeanor trace`: show what happened in a trial, step by step."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli.options import config_argument, load_config, trial_argument
from demeanor.core.codec import encode
from demeanor.core.errors import StoreError, UsageError
from demeanor.core.exit_code import ExitCode
from demeanor.core.record import Record
from demeanor.core.verdict import Pass
from demeanor.results.find_trial import find_record

if TYPE_CHECKING:
    from demeanor.core.trajectory import Event
    from demeanor.results.runs import StoredRun
    from demeanor.results.trial_steps import TrialSteps
    from demeanor.store.captures.capture_store import CaptureStore


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    trial_argument(parser)
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
    from demeanor.render.terminal import fitted, screen_of
    from demeanor.reports.trial.render import trace_text
    from demeanor.results.runs import find_stored_run
    from demeanor.results.trial_steps import read_steps, user_replies
    from demeanor.store.captures.capture_store import open_capture_store

    config = load_config(args)
    results = args.out or config.root / config.results
    asked = [name for name in (args.trial, args.other if not args.against else None) if name]
    stored = find_stored_run(args.run, results, config, os.environ, trials=asked)
    captures = open_capture_store(config)
    record = find_record(stored.records, args.trial)
    events = read_steps(stored.place, record, captures)
    if args.other or args.diff or args.against:
        other = stored
        if args.against:
            wanted = args.other or record.eval
            other = find_stored_run(args.against, results, config, os.environ, trials=[wanted])
        _print_side_by_side((record, events), stored, other, captures, args)
        return ExitCode.ACCEPTED
    if args.json:
        print("\n".join(json.dumps(encode(event)) for event in events))
    else:
        replies = user_replies(stored.place, record, captures)
        screen = screen_of(sys.stdout)
        text = trace_text(record, events, replies=replies, full=args.full)
        print(fitted(text, screen.width) if screen.live or os.environ.get("COLUMNS") else text)
        place = stored.folder.folder / record.folder if stored.folder else f"{stored.place.source}/{record.folder}"
        print(f"files: {place}")
    return ExitCode.ACCEPTED


def _print_side_by_side(
    one: tuple[Record, tuple[Event, ...]],
    run: StoredRun,
    other_run: StoredRun,
    captures: CaptureStore | None,
    args: argparse.Namespace,
) -> None:
    from demeanor.render.terminal import screen_of
    from demeanor.reports.trial.render import trace_diff
    from demeanor.results.trajectory_diff import align
    from demeanor.results.trial_steps import TrialSteps, read_steps

    record, events = one
    if args.other:
        other = find_record(other_run.records, args.other)
    else:
        other = find_nearest_pass(TrialSteps(run=run.name, record=record, events=events), other_run, captures)
    others = read_steps(other_run.place, other, captures)
    if args.json:
        print(json.dumps({"a": record.trial, "b": other.trial, "steps": encode(align(events, others))}, indent=2))
    else:
        print(trace_diff((record, events), (other, others), screen_of(sys.stdout), full=args.full))


def find_nearest_pass(trial: TrialSteps, run: StoredRun, captures: CaptureStore | None) -> Record:
    """Return the most similar trial of the same eval that passed in a run, preferably of the same subject."""
    from demeanor.reports.trial.divergence import nearest_pass
    from demeanor.results.trial_steps import load_steps

    passed = [
        load_steps(run.place, one, captures)
        for one in run.records
        if one.eval == trial.record.eval and isinstance(one.verdict, Pass) and one != trial.record
    ]
    found = nearest_pass(trial, passed)
    if found is None and passed:
        raise StoreError(passed[0].absence)
    if found is None:
        raise UsageError(
            f"no other trial of {trial.record.eval!r} passed in {run.name}\n  → name another run: --against RUN"
        )
    return found.record
