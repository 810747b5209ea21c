"""The command line: parse the arguments, run one command and return its exit code."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import cache

from demeanor.cli.registry import COMMANDS, command_module, make_parser
from demeanor.core import started
from demeanor.core.errors import DemeanorError, StoreError, UnknownName, UsageError, nearest
from demeanor.core.exit_code import ExitCode
from demeanor.core.open_files import REMEDY, out_of_files
from demeanor.core.signals import signals_as_interrupt
from demeanor.core.text import redact_before_shortening

_START = """\
Demeanor: behavioural evals for coding agents

start here:
  demeanor init               set up evals, configuration and CI in this folder
  demeanor doctor             show what is installed, and how to fix the rest
  demeanor validate           check the evals, without a model
  demeanor run --policy all   run the evals and decide whether they hold
  demeanor trace              show what happened in a trial, step by step
  demeanor serve              serve the dashboard

all commands: demeanor --help · a tutorial: demeanor help tutorial
"""
_NO_TEMP = "No usable temporary directory found"
_TOO_LATE = "demeanor: this was found after something was run or written, so the exit code is 70 and not 2\n"


def main(argv: Sequence[str]) -> int:
    """Run one command and return its exit code. The signal handlers are afterwards those of the caller."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        return run_and_end(argv)
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is not handler:
                signal.signal(number, handler)


def run_and_end(argv: Sequence[str]) -> int:
    """Run one command as the last work of this process: after Ctrl-C, further ones stay ignored until it ends."""
    chosen = next((word for word in argv if not word.startswith("-")), "")
    if not argv:
        sys.stderr.write(_START)
        return ExitCode.USAGE
    if argv[:1] == [chosen] and chosen not in COMMANDS:
        return _refuse(UnknownName("command", chosen, COMMANDS))
    args = _parse(make_parser(chosen, alone=argv[:1] == [chosen] and chosen in COMMANDS), argv)
    started.reset()
    _environment_redactor.cache_clear()
    redact_before_shortening(_without_secrets)  # until the secrets of the configuration are known, too
    try:
        with signals_as_interrupt():
            return int(command_module(args.command).run(args))
    except DemeanorError as error:
        _refuse(error)
        if not isinstance(error, StoreError) and started.has_started():
            sys.stderr.write(_TOO_LATE)
        return ExitCode.BROKEN if isinstance(error, StoreError) or started.has_started() else ExitCode.USAGE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a bug must never look like a verdict
        if out_of_files(error):
            sys.stderr.write(f"demeanor: too many open files\n  → {REMEDY}\n")
            return ExitCode.BROKEN
        if isinstance(error, FileNotFoundError) and _NO_TEMP in str(error):
            sys.stderr.write(
                f"demeanor: {error.strerror}\n  → make one of them writable, or set TMPDIR to a folder that is\n"
            )
            return ExitCode.BROKEN
        sys.stderr.write(_without_secrets(traceback.format_exc()))
        sys.stderr.write(
            "demeanor: this is a bug in Demeanor, not a verdict; please report it with the traceback above\n"
        )
        return ExitCode.BROKEN


def _refuse(error: DemeanorError) -> ExitCode:
    """Print an error of the user's making, and where to read on."""
    sys.stderr.write(f"demeanor: {error}\n  → more about this: demeanor explain {error.slug}\n")
    return ExitCode.USAGE


def _without_secrets(text: str) -> str:
    """Remove secrets: output is sent to others, and often stored in the log of a CI service."""
    return _environment_redactor()(text)


@cache
def _environment_redactor() -> Callable[[str], str]:
    """Removes what is named like a secret in the environment; made when it is first needed."""
    from demeanor.core.redaction.encodings import telling
    from demeanor.core.redaction.redactor import Redactor

    return Redactor(telling(os.environ)).text


def _parse(parser: argparse.ArgumentParser, argv: Sequence[str]) -> argparse.Namespace:
    """Parse the arguments. If a command sets `more_words`, options may stand between its words."""
    args, rest = parser.parse_known_args(argv)
    words = getattr(args, getattr(args, "more_words", ""), None)
    if rest and (words is None or any(word.startswith("-") for word in rest)):
        sys.exit(
            _refuse(
                UsageError(f"{args.command}: unrecognized arguments: {' '.join(rest)}\n  → {_hint(parser, args, rest)}")
            )
        )
    if rest and words is not None:
        words += rest
    return args


def _hint(parser: argparse.ArgumentParser, args: argparse.Namespace, rest: Sequence[str]) -> str:
    """The option that was probably meant, or where the options of the command are listed."""
    commands = next(one for one in parser._actions if isinstance(one, argparse._SubParsersAction))
    known = commands.choices[args.command]._option_string_actions
    wrong = next((word.partition("=")[0] for word in rest if word.startswith("--")), "")
    close = nearest(wrong, known) if wrong else None
    return f"did you mean {close!r}?" if close else f"see its options: demeanor {args.command} --help"
