"""All commands, one line each, and the argument parser.

The module of a command is imported only when that command is used, so that `demeanor --help` is fast.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from demeanor._version import __version__
from demeanor.cli.examples import examples

COMMANDS: Mapping[str, str] = {
    "run": "run evals and decide whether they hold",
    "nightly": "run all evals on all subjects and record the run as a night",
    "gate": "decide whether a change may merge",
    "compare": "decide whether one version is worse than another",
    "bisect": "find the commit that changed a behaviour, even if the eval is flaky",
    "promote": "list the evals that are ready for ALWAYS_PASSES, and change their policy",
    "demote": "list the evals that fail too often for ALWAYS_PASSES, and change their policy",
    "report": "show a nightly run and the nights before it",
    "serve": "serve the dashboard: all runs, evals and trials in a browser",
    "history": "show the pass rate of an eval over time",
    "analyze": "calculate pass@k, pass^k and flakiness of runs, and classify their failures",
    "list": "list the evals",
    "validate": "check, without a model, that each eval can pass and can fail",
    "adopt": "turn a session in which an agent did the wrong thing into an eval",
    "trace": "show what happened in a trial, step by step",
    "fork": "start trials from a step of a stored trial, and find the step that decided it",
    "prompt": "list the instructions that an agent sends to its model, with ids and files",
    "cover": "find the instructions in the prompt that no eval covers",
    "note": "label a trial as real, flaky, eval bug or infrastructure, or list the labels",
    "judge": "measure the error rates of an eval's judge against human labels",
    "rejudge": "judge stored trials again, without running the agent or a model",
    "watch": "judge the stored trials of an eval again whenever you edit it",
    "triage": "group the failures of a run and suggest what to do about each",
    "fix": "let an agent fix a failing eval, and verify the fix",
    "import": "import results of other tools or machines into the history",
    "export": "export a run of the history for other tools",
    "power": "show how many trials it takes to detect a drop, and the error rates of each rule",
    "simulate": "predict the time, the cost and the bottleneck of a night on a fleet",
    "contract": "check the wire formats of the model APIs, without a model",
    "agents": "list, install or check coding agents",
    "cluster": "make certificates for a cluster of workers, or check its workers",
    "harbor": "show or install Harbor, which runs whole tasks, and manage images for them",
    "models": "list, download or remove the language models that run on this machine",
    "gateway": "serve models to an agent that you start yourself",
    "task": "create a new task in the Harbor format",
    "init": "set up evals, configuration and CI in this folder",
    "skills": "write short guides for coding agents, or check that they are up to date",
    "doctor": "show what is installed, what works, and how to fix the rest",
    "help": "read the documentation",
    "explain": "explain an error, a void cause or an exit code",
    "schema": "print the JSON schema of a file or of a command's output",
    "completion": "print a completion script for your shell",
}

EXIT_CODES = (
    "exit codes: 0 accepted, 1 rejected, 2 usage error, 3 undecided, 4 refused (fix), "
    "70 internal error, 130 interrupted"
)


class _Formatter(argparse.HelpFormatter):
    """Wraps descriptions, and leaves the lines of examples as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        before, found, after = text.partition("examples:\n")
        wrapped = super()._fill_text(before, width, indent) if before.strip() else ""
        return wrapped + ("\n\n" if wrapped and found else "") + found + after


def make_parser(chosen: str | None = None, *, alone: bool = False) -> argparse.ArgumentParser:
    """The parser of all commands. If one is chosen, only its options are added; `alone`: without other commands."""
    parser = argparse.ArgumentParser(
        prog="demeanor",
        description="Behavioural evals for coding agents: does your agent still choose to do the right thing?",
        epilog=EXIT_CODES,
    )
    parser.add_argument("-V", "--version", action="version", version=f"demeanor {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        if alone and name != chosen:
            continue
        sub = commands.add_parser(
            name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.", formatter_class=_Formatter
        )
        if chosen in {None, name}:
            command_module(name).arguments(sub)
            sub.epilog = f"{sub.epilog}\n\n{examples(name)}" if sub.epilog else examples(name)
    return parser


def command_help(name: str) -> str:
    """The help text of a command."""
    parser = make_parser(name)
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    text: str = commands.choices[name].format_help()
    return text


def command_module(name: str) -> Any:
    """The module of a command, which has `arguments(parser)` and `run(args)`."""
    return import_module(f"demeanor.commands.{'import_' if name == 'import' else name}.command")
