"""`demeanor prompt`: show the prompt and tools of a trial as instructions with ids, and where they are written."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from demeanor.cli.options import config_argument, load_config, trial_argument
from demeanor.core.exit_code import ExitCode


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    trial_argument(parser)
    parser.add_argument("--run", default="latest", metavar="RUN", help="a run's name or path (default: latest)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the folder of the runs (default: results)")
    parser.add_argument("--full", action="store_true", help="do not shorten long texts")
    parser.add_argument("--json", action="store_true", help="print JSON")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Find the trial, and print the instructions of its first request."""
    from demeanor.commands.trace.prompt_text import prompt_json, prompt_text
    from demeanor.render.terminal import screen_of
    from demeanor.results.find_trial import find_record
    from demeanor.results.runs import find_stored_run
    from demeanor.results.sent_prompt import locate, sent_instructions

    config = load_config(args)
    stored = find_stored_run(args.run, args.out or config.root / config.results, config, os.environ)
    record = find_record(stored.records, args.trial)
    found = sent_instructions(stored, record, config)
    rows = locate(found, config)
    if args.json:
        print(json.dumps(prompt_json(record, rows), indent=2))
    else:
        print(prompt_text(record, rows, screen_of(sys.stdout), full=args.full))
    return ExitCode.ACCEPTED
