"""The program: parse the arguments, run one command and return its exit code."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import cache

from demeanor.cli.registry import (
    NOTHING_ALONE,
    SUB_COMMANDS,
    all_commands,
    command_module,
    command_of,
    parser_of,
    program_help,
)
from demeanor.core import started
from demeanor.core.signals import signals_as_interrupt
from demeanor.core.text.wording import redact_before_shortening
from demeanor.core.trees.open_files import REMEDY, out_of_files
from demeanor.core.values.errors import DemeanorError, StoreError, UsageError, surely_meant
from demeanor.core.values.exit_code import ExitCode

_START = """\
Demeanor: behavioural evals for coding agents

start here:
  demeanor init               set up evals, configuration and CI in this folder
  demeanor doctor             show what is installed, and how to fix the rest
  demeanor validate           check the evals, without a model
  demeanor run                run the evals and decide whether they hold
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
    if not argv:
        sys.stderr.write(_START)
        return ExitCode.USAGE
    if argv[0] in {"-h", "--help"}:
        sys.stdout.write(program_help())
        return ExitCode.ACCEPTED
    try:
        name, args = _parse(argv)
    except UsageError as error:
        return _refuse(error)
    started.reset()
    _environment_redactor.cache_clear()
    redact_before_shortening(_without_secrets)  # until the secrets of the configuration are known, too
    try:
        with signals_as_interrupt():
            return int(command_module(name).run(args))
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
    sys.stderr.write(f"demeanor: {error}\n  → more about this: demeanor help {error.slug}\n")
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


def _parse(argv: Sequence[str]) -> tuple[str, argparse.Namespace]:
    """The command and its arguments. If a command sets `more_words`, options may stand between its words."""
    if argv[0] == "--config" and len(argv) > 2:  # an option of any command; it may also precede the command
        argv = [*argv[2:], *argv[:2]]
    name, words = _command(argv)
    parser = parser_of(name)
    args, rest = parser.parse_known_args(words)
    remedy = f"see its options: demeanor {name} --help"
    option = next((word.partition("=")[0] for word in rest if word.startswith("-")), None)
    if option is not None:
        close = surely_meant(option, parser._option_string_actions)
        raise _unknown(f"{name}: unknown option {option!r}", close, remedy)
    more = getattr(args, getattr(args, "more_words", ""), None)
    if rest and more is None:
        raise UsageError(f"{name}: unexpected argument {rest[0]!r}\n  → {remedy}")
    if more is not None:
        more += rest
    return name, args


def _command(argv: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The command or sub-command that is named, and the words after it."""
    name, words = command_of(argv)
    if not name and argv[0].startswith("-"):
        if argv[0].partition("=")[0] in parser_of("run")._option_string_actions:
            raise UsageError(f"no command is named before {argv[0]!r}\n  → demeanor run {shlex.join(argv)}")
        close = surely_meant(argv[0], ("--help", "--version"))
        raise _unknown(f"unknown option {argv[0]!r}", close, "see demeanor --help")
    if not name:
        by_last_word = {command.rpartition(" ")[2]: command for command in reversed(tuple(all_commands()))}
        close = surely_meant(argv[0], by_last_word)
        raise _unknown(f"unknown command {argv[0]!r}", by_last_word.get(close or ""), "see demeanor --help")
    if name in NOTHING_ALONE and words[:1] not in (["-h"], ["--help"]):
        remedy = " | ".join(f"demeanor {name} {word}" for word in SUB_COMMANDS[name])
        if not words:
            raise UsageError(f"{name}: no sub-command is named\n  → {remedy}")
        close = surely_meant(words[0], SUB_COMMANDS[name])
        raise _unknown(f"{name}: unknown sub-command {words[0]!r}", close and f"{name} {close}", remedy)
    return name, words


def _unknown(problem: str, close: str | None, otherwise: str) -> UsageError:
    remedy = f"did you mean {close!r}?" if close else otherwise
    return UsageError(f"{problem}\n  → {remedy}")
