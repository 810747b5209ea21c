"""`demeanor completion`: print a completion script for the shell, generated from the options."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from demeanor.core.errors import UsageError
from demeanor.core.exit_code import ExitCode

_SHELLS = ("bash", "zsh", "tcsh", "fish")
_KINDS = ("evals", "subjects", "runs", "trials", "topics", "agents", "explanations", "schemas")
_OF_OPTION = {
    "--scenario": "evals", "-k": "evals", "--subject": "subjects", "--resume": "runs", "--run": "runs",
    "--against": "runs", "--agent": "agents",
}  # fmt: skip
_OF_METAVAR = {"EVAL": "evals", "RUN": "runs", "RUN|EVAL": "evals", "TRIAL": "trials", "TOPIC": "topics"}
_OF_COMMAND = {"agents": "agents", "explain": "explanations", "schema": "schemas"}
_FOLDERS = ("DIR", "folder")
_FILES = ("PATH", "FILE", "RUN|FILE")
_NAMES = "demeanor completion --names {kind} 2>/dev/null"
_PREAMBLE = {
    "bash": """\
COMP_WORDBREAKS=${COMP_WORDBREAKS//:}  # subjects contain colons
"""
    + "".join(f'_demeanor_{kind}() {{ compgen -W "$({_NAMES.format(kind=kind)})" -- "$1"; }}\n' for kind in _KINDS),
    "zsh": "".join(
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
        from demeanor.commands.completion.names import names

        print("\n".join(names(args.names, Path.cwd(), os.environ)))
        return ExitCode.ACCEPTED
    if args.shell is None:
        raise UsageError(f"which shell?\n  → demeanor completion {' | '.join(_SHELLS)}")
    import shtab

    from demeanor.cli.registry import make_parser

    parser = make_parser()
    for command, action in _actions(parser):
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
    if shown in _FOLDERS:
        return shtab.DIRECTORY
    return shtab.FILE if shown in _FILES or action.type is Path else None


def _actions(parser: argparse.ArgumentParser, command: str = "") -> Iterator[tuple[str, argparse.Action]]:
    """Yield the actions of a parser and of its commands, each with the name of its command."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                yield from _actions(sub, name)
        else:
            yield command, action
