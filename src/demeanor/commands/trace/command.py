"""`demeanor trace`: show what happened in a trial, step by step, or the prompt it was sent, or its labels."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli import config_argument, load_config, refuse_misfits, trial_argument
from demeanor.commands.trace import labels
from demeanor.commands.trace.prompt import print_prompt
from demeanor.core.text.codec import encode
from demeanor.core.values.errors import StoreError, UsageError
from demeanor.core.values.exit_code import ExitCode
from demeanor.core.values.verdict import Pass

if TYPE_CHECKING:
    from demeanor.config import Config
    from demeanor.core.values.record import Record
    from demeanor.core.values.trajectory import Event
    from demeanor.results import StoredRun, TrialSteps
    from demeanor.store.captures import CaptureStore

_OPTIONS = {
    "": ("diff", "against", "full"),
    "--prompt": ("full",),
    "--label": ("label", "note"),
    "--notes": ("label",),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    trial_argument(parser)
    parser.add_argument("other", nargs="?", metavar="OTHER", help="a second trial to show side by side")
    shown = parser.add_argument_group("what to show (default: the steps)")
    shown.add_argument(
        "--diff", action="store_true", help="show it side by side with the most similar trial of its eval that passed"
    )
    shown.add_argument("--against", metavar="RUN", help="the run of the second trial (default: the same run)")
    which = shown.add_mutually_exclusive_group()
    which.add_argument(
        "--prompt", action="store_true", help="the instructions that the agent sent to its model, with ids and files"
    )
    which.add_argument(
        "--notes",
        action="store_true",
        help="the labels of trials, newest first (default: all; TRIAL, --run and --label filter)",
    )
    labels.arguments(parser)
    parser.add_argument("--run", metavar="RUN", help="a run's name or path (default: latest; with --notes: all runs)")
    parser.add_argument("--results", type=Path, metavar="DIR", help="folder of runs (default: results)")
    parser.add_argument("--full", action="store_true", help="do not shorten long texts")
    parser.add_argument("--json", action="store_true", help="print JSON: events one per line, all else as one document")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Find the trial, or both trials, and print them; or one of the other forms."""
    form = _form(args)
    refuse_misfits(args, arguments, form, _OPTIONS)
    if form and args.other is not None:
        raise UsageError(f"{form} takes one TRIAL, so OTHER={args.other} does not fit\n  → leave it out")
    config = load_config(args)
    results = args.results or config.root / config.results
    if form == "--prompt":
        print_prompt(args, config, results)
    elif form:
        labels.print_labels(args, config, results)
    else:
        _print_steps(args, config, results)
    return ExitCode.ACCEPTED


def _form(args: argparse.Namespace) -> str:
    if args.prompt:
        return "--prompt"
    if args.notes:
        return "--notes"
    return "--label" if args.label is not None else ""


def _print_steps(args: argparse.Namespace, config: Config, results: Path) -> None:
    """Print the steps of a trial, or of two side by side."""
    from demeanor.render import fitted, screen_of
    from demeanor.reports.trial import trace_text
    from demeanor.results import find_record, find_stored_run, read_steps, user_replies
    from demeanor.store.captures import open_capture_store

    asked = [name for name in (args.trial, args.other if not args.against else None) if name]
    stored = find_stored_run(args.run or "latest", results, config, os.environ, trials=asked)
    captures = open_capture_store(config)
    record = find_record(stored, args.trial)
    events = read_steps(stored.place, record, captures)
    if args.other or args.diff or args.against:
        other = stored
        if args.against:
            name = args.other or record.eval
            other = find_stored_run(args.against, results, config, os.environ, trials=[name])
        _print_side_by_side((record, events), stored, other, captures, args)
        return
    if args.json:
        print("\n".join(json.dumps(encode(event)) for event in events))
    else:
        replies = user_replies(stored.place, record, captures)
        screen = screen_of(sys.stdout)
        text = trace_text(record, events, replies=replies, full=args.full)
        print(fitted(text, screen.width) if screen.live or os.environ.get("COLUMNS") else text)
        place = stored.folder.folder / record.folder if stored.folder else f"{stored.place.source}/{record.folder}"
        print(f"files: {place}")


def _print_side_by_side(
    side: tuple[Record, tuple[Event, ...]],
    run: StoredRun,
    other_run: StoredRun,
    captures: CaptureStore | None,
    args: argparse.Namespace,
) -> None:
    from demeanor.render import screen_of
    from demeanor.reports.trial import explain, trace_diff
    from demeanor.results import TrialSteps, align, find_record, read_steps

    record, events = side
    own = TrialSteps(run=run.name, record=record, events=events)
    if args.other:
        other = find_record(other_run, args.other)
    else:
        other = find_nearest_pass(own, other_run, captures)
    others = read_steps(other_run.place, other, captures)
    explanation = explain(own, TrialSteps(run=other_run.name, record=other, events=others))
    if args.json:
        steps = encode(align(events, others))
        named = {"a": record.trial, "b": other.trial, "explanation": explanation, "steps": steps}
        print(json.dumps(named, indent=2))
    else:
        sides = (record, events), (other, others)
        print(trace_diff(*sides, screen_of(sys.stdout), explanation=explanation, full=args.full))


def find_nearest_pass(trial: TrialSteps, run: StoredRun, captures: CaptureStore | None) -> Record:
    """Return the most similar trial of the same eval that passed in a run, preferably of the same subject."""
    from demeanor.reports.trial import nearest_pass
    from demeanor.results import load_steps

    passed = [
        load_steps(run.place, record, captures)
        for record in run.records
        if record.eval == trial.record.eval and isinstance(record.verdict, Pass) and record != trial.record
    ]
    passing = nearest_pass(trial, passed)
    if passing is None and passed:
        raise StoreError(passed[0].absence)
    if passing is None:
        raise UsageError(
            f"no other trial of {trial.record.eval!r} passed in {run.name}\n  → name another run: --against RUN"
        )
    return passing.record
