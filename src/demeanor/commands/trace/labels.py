"""`demeanor trace TRIAL --label L`, which labels a trial, and `demeanor trace --notes`, which lists the labels."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli import print_report
from demeanor.core.values.errors import UsageError
from demeanor.core.values.notes import LABELS

if TYPE_CHECKING:
    from demeanor.config import Config


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options that write a label."""
    group = parser.add_argument_group("a label for TRIAL")
    group.add_argument(
        "--label",
        choices=LABELS,
        help="real: the verdict is right; flaky: the agent varies; eval-bug: the eval is wrong; infra: machine, network"
        " or provider",
    )
    group.add_argument("--note", metavar="TEXT", help="what you found out")


def print_labels(args: argparse.Namespace, config: Config, results: Path) -> None:
    """Write a label, or list those that match."""
    from demeanor.commands.trace.notes import NoteRequest, list_notes, write_note
    from demeanor.commands.trace.notes_report import NOTES_DOCUMENT
    from demeanor.commands.trace.notes_text import notes_terminal

    if args.trial is None and not args.notes:
        raise UsageError(f"--label {args.label} needs a TRIAL\n  → demeanor trace EVAL/SUBJECT/N --label {args.label}")
    request = NoteRequest(
        trial=args.trial,
        run=args.run,
        label=args.label,
        text=args.note or "",
        results=results,
    )
    report = (list_notes if args.notes else write_note)(request, config, os.environ)
    print_report(args, report, NOTES_DOCUMENT, notes_terminal)
