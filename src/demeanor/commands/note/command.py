"""`demeanor note`: label a trial, or list the labels."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from demeanor.cli.options import config_argument, load_config, print_report
from demeanor.core.errors import UsageError
from demeanor.core.exit_code import ExitCode
from demeanor.core.notes import LABELS
from demeanor.core.text import shortened


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    needed = [
        parser.add_argument(
            "trial",
            metavar="TRIAL",
            help="EVAL/SUBJECT/N; of EVAL or EVAL/SUBJECT, the first trial that did not pass, as `demeanor trace`"
            " shows it",
        ),
        parser.add_argument("text", metavar="TEXT", help='what you found out; may be ""'),
        parser.add_argument(
            "--label",
            choices=LABELS,
            required=True,
            help="real: the verdict is right; flaky: the agent varies; eval-bug: the eval is wrong;"
            " infra: machine, network or provider",
        ),
    ]
    parser.add_argument("--run", metavar="RUN", help="a run's name or path (default: latest; with --list: all runs)")
    parser.add_argument("--author", metavar="NAME", help="who writes the note (default: the name of the user)")
    parser.add_argument(
        "--list",
        action=_List,
        needed=needed,
        help="list the notes, newest first; TRIAL, --run and --label filter, and none of them is required",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--results", type=Path, metavar="DIR", help="folder for runs (default: results)")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Write a note, or list the notes."""
    from demeanor.commands.trace.notes import NoteRequest, list_notes, write_note
    from demeanor.commands.trace.notes_report import NOTES_DOCUMENT
    from demeanor.commands.trace.notes_text import notes_terminal

    if args.list and args.text:
        raise UsageError(f"--list takes no text: {shortened(args.text, 60)!r}\n  → leave it out, or leave out --list")
    config = load_config(args)
    request = NoteRequest(
        trial=args.trial,
        run=args.run,
        label=args.label,
        text=args.text or "",
        author=args.author,
        results=args.results or config.root / config.results,
    )
    report = (list_notes if args.list else write_note)(request, config, os.environ)
    print_report(args, report, NOTES_DOCUMENT, notes_terminal)
    return ExitCode.ACCEPTED


class _List(argparse.Action):
    """`--list`: nothing else is required then. Optional positionals would not do: argparse fills both at the first."""

    def __init__(
        self,
        option_strings: Sequence[str],
        dest: str,
        *,
        needed: Sequence[argparse.Action],
        help: str,  # noqa: A002
    ) -> None:
        super().__init__(option_strings, dest, nargs=0, default=False, help=help)
        self.needed = needed

    def __call__(
        self, parser: object, namespace: argparse.Namespace, values: object, option: str | None = None
    ) -> None:
        namespace.list = True
        for action in self.needed:
            action.required = False
