"""The command line: one module per command, each of which parses, calls, prints and gives an exit code.

A command's module is imported only when that command is used, so that `demeanor --help` is quick. It offers
`arguments(parser)` and `run(args) -> ExitCode`.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from demeanor._version import __version__
from demeanor.core.errors import DemeanorError, StoreError
from demeanor.core.exit_code import ExitCode

COMMANDS: Mapping[str, str] = {
    "run": "run evals and decide",
    "nightly": "run all evals on all subjects, and keep it as a night",
    "gate": "tell whether a change may merge",
    "compare": "tell whether one version is worse than another",
    "bisect": "find the commit that changed a behaviour, though each trial is uncertain",
    "promote": "list the evals that have earned ALWAYS_PASSES, and change them",
    "demote": "list the evals that no longer deserve ALWAYS_PASSES, and change them",
    "report": "show a night and the nights before it",
    "history": "show how the pass rate of an eval went over time",
    "analyze": "reckon pass@k, pass^k and flakiness of runs, and sort their failures",
    "list": "show the evals that are defined",
    "validate": "prove, without a model, that each eval can pass and can fail",
    "trace": "show what happened in a trial, step by step",
    "rejudge": "judge what was kept again, without agent or model",
    "triage": "group what went wrong in a run, and say what to do about each",
    "fix": "let an agent mend what an eval shows to be broken, and prove it",
    "import": "bring results that other tools or machines have kept into the history",
    "export": "write a run of the history for other tools",
    "power": "tell how many trials it takes to see a drop, and what each rule misses",
    "contract": "check the wire formats of the model APIs, without a model",
    "agents": "show, install or check the coding agents that can be tried",
    "harbor": "show or install Harbor, which runs whole tasks",
    "models": "show, fetch or remove the language models that run on this machine",
    "gateway": "serve models to an agent that you start yourself",
    "task": "begin a new task in the format of Harbor",
    "init": "set up evals, configuration and CI in this folder",
    "skills": "write short guides for coding agents, or check that they are fresh",
    "doctor": "show what is installed, what works and what to do",
    "completion": "print a completion script for your shell",
}

EXIT_CODES = (
    "exit codes: 0 accepted, 1 rejected, 2 wrong usage, 3 undecided (only voids), 4 refused (fix), 70 broken, "
    "130 interrupted"
)


def make_parser(chosen: str | None = None) -> argparse.ArgumentParser:
    """The parser of all commands, or with the options of the chosen one only."""
    parser = argparse.ArgumentParser(
        prog="demeanor",
        description="Behavioural evals for coding agents: does your agent still choose to do the right thing?",
        epilog=EXIT_CODES,
    )
    parser.add_argument("-V", "--version", action="version", version=f"demeanor {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        sub = commands.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        if chosen in {None, name}:
            _module(name).arguments(sub)
    return parser


def main(argv: Sequence[str]) -> int:
    """Run one command and give its exit code."""
    chosen = next((word for word in argv if not word.startswith("-")), "")
    args = make_parser(chosen).parse_args(argv)
    try:
        code: int = _module(args.command).run(args)
        sys.stdout.flush()
        return code
    except DemeanorError as error:
        sys.stderr.write(f"demeanor: {error}\n")
        return ExitCode.BROKEN if isinstance(error, StoreError) else ExitCode.USAGE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; nothing is wrong here. Python must not complain about it again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.ACCEPTED
    except Exception:  # noqa: BLE001 - a bug must never look like a verdict
        sys.stderr.write(_without_secrets(traceback.format_exc()))
        sys.stderr.write("demeanor: this is a bug in Demeanor, not a verdict; please report it with the text above\n")
        return ExitCode.BROKEN


def _without_secrets(text: str) -> str:
    """A crash is reported to others, and often kept in the log of a CI service."""
    from demeanor.core.redaction.encodings import telling
    from demeanor.core.redaction.redactor import Redactor

    return Redactor(telling(os.environ)).text(text)


def _module(name: str) -> Any:
    return import_module(f"demeanor.commands.{'import_' if name == 'import' else name}.command")
