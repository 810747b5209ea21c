"""`demeanor help completion`: print a completion script for the shell, generated from the options."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from demeanor.core.values.errors import UsageError
from demeanor.core.values.exit_code import ExitCode

_SHELLS = ("bash", "zsh", "tcsh", "fish")
_KINDS = ("evals", "subjects", "runs", "trials", "help", "agents", "schemas")
_OF_OPTION = {
    "--scenario": "evals", "-k": "evals", "--subject": "subjects", "--resume": "runs", "--run": "runs",
    "--against": "runs", "--agent": "agents", "--eval": "evals", "--calibrate": "evals",
}  # fmt: skip
_OF_METAVAR = {"EVAL": "evals", "RUN": "runs", "RUN|EVAL|PATH": "evals", "TRIAL": "trials"}
_OF_COMMAND = {"agents": "agents", "help": "help", "help schema": "schemas"}
_FOLDERS = ("DIR", "folder")
_FILES = ("PATH", "FILE")
_NAMES = "demeanor help completion --names {kind} 2>/dev/null"
_PREAMBLE = {
    "bash": """\
COMP_WORDBREAKS=${COMP_WORDBREAKS//:}  # subjects contain colons
_demeanor_init_dir() { compgen -W guides -- "$1"; compgen -d -- "$1"; }
"""
    + "".join(f'_demeanor_{kind}() {{ compgen -W "$({_NAMES.format(kind=kind)})" -- "$1"; }}\n' for kind in _KINDS),
    "zsh": "_demeanor_init_dir() { compadd guides; _files -/ }\n"
    + "".join(
        f'_demeanor_{kind}() {{ local -a names; names=(${{(f)"$({_NAMES.format(kind=kind)})"}}); compadd -a names }}\n'
        for kind in _KINDS
    ),
}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("shell", nargs="?", choices=_SHELLS, help="the shell to print a script for")
    parser.add_argument(
        "--names", choices=_KINDS, help="print the names that the scripts complete, of the project in this folder"
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Print the script, or names."""
    if args.names is not None:
        from demeanor.commands.help.completion_names import names

        print("\n".join(names(args.names, Path.cwd(), os.environ)))
        return ExitCode.ACCEPTED
    if args.shell is None:
        raise UsageError(f"which shell?\n  → demeanor help completion {' | '.join(_SHELLS)}")
    import shtab

    parser = argparse.ArgumentParser(prog="demeanor")
    for command, action in _add_commands(parser):
        if action.choices is None and action.nargs != 0 and (offered := _offered(command, action)) is not None:
            action.complete = offered  # type: ignore[attr-defined]
        if args.shell == "zsh" and isinstance(action.metavar, str):
            action.metavar = action.metavar.replace(":", r"\:")
    print(shtab.complete(parser, shell=args.shell, preamble=_PREAMBLE.get(args.shell, "")))
    return ExitCode.ACCEPTED


def _offered(command: str, action: argparse.Action) -> dict[str, Any] | None:
    """What each shell calls for the values of an argument; None if it can offer nothing."""
    import shtab

    shown = action.metavar if isinstance(action.metavar, str) else action.dest
    kind = next(filter(None, map(_OF_OPTION.get, action.option_strings)), None)
    if kind is None and not action.option_strings:
        kind = _OF_METAVAR.get(shown) or (_OF_COMMAND.get(command) if shown.startswith("NAME") else None)
    if kind is not None:
        return {**dict.fromkeys(_PREAMBLE, f"_demeanor_{kind}"), "fish": f"({_NAMES.format(kind=kind)})"}
    if command == "init" and not action.option_strings:  # a folder, or the sub-command
        return {**shtab.DIRECTORY, **dict.fromkeys(_PREAMBLE, "_demeanor_init_dir")}
    if shown in _FOLDERS:
        return shtab.DIRECTORY
    return shtab.FILE if shown in _FILES or action.type is Path else None


def _add_commands(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.Action]]:
    """Add all commands to a parser. Yields the name of each with each of its actions, before shtab reads them."""
    from demeanor.cli import all_commands, parser_of, sub_commands

    below = {"": parser.add_subparsers()}
    for name, summary in all_commands().items():
        command, _, word = name.rpartition(" ")
        added = below[command].add_parser(word, help=summary, parents=[parser_of(name)], add_help=False)
        yield from ((name, action) for action in added._actions)
        if sub_commands(name):
            below[name] = added.add_subparsers()
