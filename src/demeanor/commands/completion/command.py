"""`demeanor completion`: print a completion script for the shell, generated from the options."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

from demeanor.core.errors import UsageError
from demeanor.core.exit_code import ExitCode

_SHELLS = ("bash", "zsh", "tcsh", "fish")
_KINDS = ("evals", "subjects", "runs", "trials", "topics")
_OF_OPTION = {"--scenario": "evals", "--subject": "subjects", "--resume": "runs", "--run": "runs", "--against": "runs"}
_OF_METAVAR = {"EVAL": "evals", "RUN": "runs", "RUN|EVAL": "evals", "TRIAL": "trials", "TOPIC": "topics"}
_PREAMBLE = {
    "bash": """\
COMP_WORDBREAKS=${COMP_WORDBREAKS//:}  # subjects contain colons
"""
    + "".join(
        f'_demeanor_{kind}() {{ compgen -W "$(demeanor completion --names {kind} 2>/dev/null)" -- "$1"; }}\n'
        for kind in _KINDS
    ),
    "zsh": "".join(
        f'_demeanor_{kind}() {{ local -a names; names=(${{(f)"$(demeanor completion --names {kind} 2>/dev/null)"}});'
        " compadd -a names }\n"
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

    from demeanor.commands.registry import make_parser

    parser = make_parser()
    for action in _actions(parser):
        kind = next(filter(None, map(_OF_OPTION.get, action.option_strings)), None) or _of_metavar(action)
        if kind is not None and action.choices is None and action.nargs != 0:
            action.complete = dict.fromkeys(_PREAMBLE, f"_demeanor_{kind}")  # type: ignore[attr-defined]
    print(shtab.complete(parser, shell=args.shell, preamble=_PREAMBLE.get(args.shell, "")))
    return ExitCode.ACCEPTED


def _of_metavar(action: argparse.Action) -> str | None:
    return _OF_METAVAR.get(action.metavar) if isinstance(action.metavar, str) and not action.option_strings else None


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the actions of a parser and of its commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for sub in action.choices.values():
                yield from _actions(sub)
        else:
            yield action
