"""The command line: parse the arguments, run one command and return its exit code."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import cache

from demeanor.commands.registry import COMMANDS, command_module, make_parser
from demeanor.core import started
from demeanor.core.errors import DemeanorError, StoreError
from demeanor.core.exit_code import ExitCode
from demeanor.core.open_files import REMEDY, out_of_files
from demeanor.core.signals import signals_as_interrupt
from demeanor.core.text import redact_before_shortening

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
    args = _parse(make_parser(chosen, alone=argv[:1] == [chosen] and chosen in COMMANDS), argv)
    started.reset()
    _environment_redactor.cache_clear()
    redact_before_shortening(_without_secrets)  # until the secrets of the configuration are known, too
    try:
        with signals_as_interrupt():
            return int(command_module(args.command).run(args))
    except DemeanorError as error:
        sys.stderr.write(f"demeanor: {error}\n  → more about this: demeanor explain {error.slug}\n")
        if not isinstance(error, StoreError) and started.has_started():
            sys.stderr.write(_TOO_LATE)
        return ExitCode.BROKEN if isinstance(error, StoreError) or started.has_started() else ExitCode.USAGE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - a bug must never look like a verdict
        if out_of_files(error):
            sys.stderr.write(f"demeanor: too many open files\n  → {REMEDY}\n")
            return ExitCode.BROKEN
        sys.stderr.write(_without_secrets(traceback.format_exc()))
        sys.stderr.write(
            "demeanor: this is a bug in Demeanor, not a verdict; please report it with the traceback above\n"
        )
        return ExitCode.BROKEN


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
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if rest and words is not None:
        words += rest
    return args
