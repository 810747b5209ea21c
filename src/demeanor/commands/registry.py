"""All commands, one line each, and the parser made of them.

A command's module is imported only when that command is used, so that `demeanor --help` is quick.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from demeanor._version import __version__

COMMANDS: Mapping[str, str] = {
    "run": "run evals and decide",
    "nightly": "run all evals on all subjects, and keep it as a night",
    "gate": "tell whether a change may merge",
    "compare": "tell whether one version is worse than another",
    "bisect": "find the commit that changed a behaviour, though each trial is uncertain",
    "promote": "list the evals that are ready for ALWAYS_PASSES, and change them",
    "demote": "list the evals that fail too often for ALWAYS_PASSES, and change them",
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
            command_module(name).arguments(sub)
    return parser


def command_module(name: str) -> Any:
    """The module of a command: it offers `arguments(parser)` and `run(args)`."""
    return import_module(f"demeanor.commands.{'import_' if name == 'import' else name}.command")
