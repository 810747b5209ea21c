"""`demeanor trace [TRIAL] --prompt`: the prompt and tools of a trial as instructions with ids, and their files."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from demeanor.config import Config


def print_prompt(args: argparse.Namespace, config: Config, results: Path) -> None:
    """Find the trial, and print the instructions of its first request."""
    from demeanor.commands.trace.prompt_text import prompt_json, prompt_text
    from demeanor.render import screen_of
    from demeanor.results import find_record, find_stored_run, locate, sent_instructions

    stored = find_stored_run(args.run or "latest", results, config, os.environ)
    record = find_record(stored, args.trial)
    rows = locate(sent_instructions(stored, record, config), config)
    if args.json:
        print(json.dumps(prompt_json(record, rows), indent=2))
    else:
        print(prompt_text(record, rows, screen_of(sys.stdout), full=args.full))
