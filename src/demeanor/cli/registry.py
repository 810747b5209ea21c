"""All commands, one line each, and their argument parsers.

The module of a command is imported only when that command is used, so that `demeanor --help` is fast.
"""

from __future__ import annotations

import argparse
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

from demeanor.cli.examples import EXAMPLES, examples
from demeanor.cli.plugin_commands import plugin_commands, plugin_groups, plugin_module, plugin_summaries
from demeanor.core.values.errors import UsageError

GROUPS: Mapping[str, Mapping[str, str]] = {
    "start": {
        "init": "set up evals, configuration and CI, or guides for coding agents",
        "validate": "check evals without a model, list them, or calibrate their judges",
        "run": "run evals and decide whether they hold",
        "trace": "show what happened in a trial, step by step, or its prompt; label it",
        "serve": "serve the dashboard: all runs, evals and trials in a browser",
    },
    "every night": {
        "nightly": "run all evals on all subjects and record the run as a night",
        "report": "show a night, an eval over time, failures in groups, or metrics",
        "promote": "list evals that are ready for another policy, and change it",
    },
    "every change": {
        "gate": "decide whether a change may merge",
        "compare": "decide whether one version is worse, or how many trials show it",
        "fix": "let an agent fix a failing eval, and verify the fix",
    },
    "explore": {
        "rejudge": "judge stored trials again, without agent or model: once, or on edits",
    },
    "machine": {
        "agents": "list, install or check coding agents",
        "models": "list, download or remove language models that run on this machine",
        "doctor": "show what is installed, what works, and how to fix the rest",
        "store": "import results of other tools or machines, and export runs",
        "gateway": "serve models to an agent that you start, or check wire formats",
        "help": "read the documentation, schemas and all options; set up completion",
    },
}
"""Group → command → what it does, in the order of `demeanor --help`."""

SUB_COMMANDS: Mapping[str, Mapping[str, str]] = {
    "init": {"guides": "write guides for coding agents, or check that they are up to date"},
    "store": {
        "import": "import results of other tools or machines into the history",
        "export": "export a run of the history for other tools",
    },
    "gateway": {
        "serve": "serve models to an agent that you start yourself",
        "contract": "check the wire formats of the model APIs, without a model",
    },
    "help": {
        "commands": "show the options of all commands",
        "schema": "print the JSON schema of a file or of a command's output",
        "completion": "print a completion script for your shell",
    },
}
"""Command → sub-command → what it does."""

NOTHING_ALONE = ("store", "gateway")
"""Commands that do nothing without a sub-command."""


def _all_commands() -> Iterator[tuple[str, str]]:
    for group in GROUPS.values():
        for name, summary in group.items():
            yield name, summary
            for word, about in SUB_COMMANDS.get(name, {}).items():
                yield f"{name} {word}", about


COMMANDS: Mapping[str, str] = dict(_all_commands())
"""Every command and sub-command of Demeanor itself, such as `store import`, and what it does."""

EXIT_CODES = (
    "exit codes: 0 accepted, 1 rejected, 2 usage error, 3 undecided, 4 refused (fix), "
    "70 internal error, 130 interrupted"
)

_LITERAL = re.compile(r"^(?:sub-commands|examples):$", re.M)


class _Formatter(argparse.HelpFormatter):
    """Wraps descriptions, and leaves the lines of examples as they are."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        literal = _LITERAL.search(text)
        if literal is None:
            return super()._fill_text(text, width, indent)
        before = text[: literal.start()].strip()
        wrapped = f"{super()._fill_text(before, width, indent)}\n\n" if before else ""
        return wrapped + text[literal.start() :]


class _CommandParser(argparse.ArgumentParser):
    """Takes no abbreviations of options; reports a wrong argument as all other mistakes are reported."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        words = self.prog.removeprefix("demeanor ")
        raise UsageError(f"{words}: {message}\n  → see its options: {self.prog} --help")


def all_commands() -> Mapping[str, str]:
    """Every command and sub-command, also those of other packages, and what it does."""
    return {**COMMANDS, **plugin_summaries(COMMANDS)}


def sub_commands(name: str) -> Mapping[str, str]:
    """The sub-commands of a command, and what each does."""
    if name in COMMANDS:
        return SUB_COMMANDS.get(name, {})
    own, others = f"{name} ", plugin_summaries(COMMANDS)
    return {other.removeprefix(own): text for other, text in others.items() if other.startswith(own)}


def program_help() -> str:
    """What `demeanor --help` prints."""
    lines = ["usage: demeanor COMMAND [OPTION …]"]
    others = plugin_groups(COMMANDS)
    for group in dict.fromkeys((*GROUPS, *others)):
        verbs = {**GROUPS.get(group, {}), **others.get(group, {})}
        lines += ["", group, *(f"  {name:<9} {summary}" for name, summary in verbs.items())]
    lines += ["", "options: demeanor COMMAND --help; of all commands: demeanor help commands"]
    lines += ["of any command: --config FILE  (default: the nearest demeanor.toml)"]
    lines += textwrap.wrap(EXIT_CODES, width=80, subsequent_indent=" " * len("exit codes: "))
    return "\n".join(lines) + "\n"


def command_of(argv: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The command or sub-command that a command line begins with, and the words after it; empty if there is none."""
    commands = COMMANDS if argv[0] in COMMANDS else plugin_commands()
    for number in (2, 1):
        name = " ".join(argv[:number])
        if len(argv) >= number and name in commands:
            return name, argv[number:]
    return "", argv


def parser_of(name: str) -> argparse.ArgumentParser:
    """The parser of a command or of a sub-command, for the words after its name."""
    module: Any = None if name in NOTHING_ALONE else command_module(name)
    summary: str = COMMANDS.get(name) or module.SUMMARY
    parser = _CommandParser(
        prog=f"demeanor {name}", description=f"{summary[0].upper()}{summary[1:]}.", formatter_class=_Formatter
    )
    below = sub_commands(name)
    if module is None:
        parser.usage = f"demeanor {name} {'|'.join(below)} …"
    else:
        module.arguments(parser)
    width = max(map(len, below), default=0)
    listed = "\n".join(f"  {word:<{width}}  {about}" for word, about in below.items())
    shown: Any = EXAMPLES.get(name) or getattr(module, "EXAMPLES", ())
    parts = [parser.epilog, f"sub-commands:\n{listed}" if below else "", examples(shown)]
    parser.epilog = "\n\n".join(part for part in parts if part)
    return parser


def command_module(name: str) -> Any:
    """The module of a command, which has `arguments(parser)` and `run(args)`."""
    if name not in COMMANDS:
        return plugin_module(name)
    command, _, word = name.partition(" ")
    return import_module(f"demeanor.commands.{command}.{'import_' if word == 'import' else word or 'command'}")
