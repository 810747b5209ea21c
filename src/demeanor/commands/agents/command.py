"""`demeanor agents`: the coding agents that can be tried, what is installed of them, and what each can do."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.commands.options import config_argument, load_config
from demeanor.core.agent import Ability
from demeanor.core.exit_code import ExitCode
from demeanor.core.text import printable

if TYPE_CHECKING:
    from demeanor.agents.recipe import Recipe
    from demeanor.commands.agents.conformance.suite import Shown

_ABILITIES = tuple(ability.value for ability in Ability)
_LIST = ", ".join(_ABILITIES)
_STATES = {"shown": "shown", "declared": "can't", "failed": "FAILED", "unknown": "unknown"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command's options."""
    parser.add_argument(
        "action",
        choices=("list", "install", "check"),
        nargs="?",
        default="list",
        help="list (default); install into a folder of its own; check: run the conformance suite",
    )
    parser.add_argument("names", metavar="NAME[@VERSION]", nargs="*", help="the agents; an exact version to install")
    parser.add_argument(
        "--dir", type=Path, metavar="DIR", help="where agents are installed (default: in your data folder)"
    )
    parser.add_argument(
        "--ability", action="append", default=[], choices=_ABILITIES, metavar="NAME", help=f"check only this: {_LIST}"
    )
    parser.add_argument("--sandbox", metavar="LEVEL", help="where a checked agent runs (default: the configuration's)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """Show, install or check."""
    from demeanor.agents.package import agents_folder

    if args.dir is not None:
        os.environ["DEMEANOR_AGENTS"] = str(args.dir.resolve())
    folder = agents_folder(os.environ)
    if args.action == "list":
        return _list(args.names, folder, as_json=args.json)
    if args.action == "install":
        return _install(args.names, folder)
    return _check(args)


def _check(args: argparse.Namespace) -> ExitCode:
    """Run the conformance suite on each agent and print what it has shown."""
    from demeanor.commands.agents.conformance.suite import check
    from demeanor.core.codec import encode
    from demeanor.core.errors import UsageError

    if not args.names:
        raise UsageError("which agent is to be checked?\n  → demeanor agents check NAME")
    config = load_config(args)
    if args.sandbox:
        config = replace(config, sandbox=args.sandbox)
    only = [Ability(name) for name in args.ability]
    shown = {name: check(config, name, os.environ, _tell, only) for name in args.names}
    if args.json:
        print(json.dumps(encode(shown), indent=2))
    else:
        for name, found in shown.items():
            _print_shown(name, found)
    failed = any(one.state == "failed" for found in shown.values() for one in found)
    return ExitCode.REJECTED if failed else ExitCode.ACCEPTED


def _print_shown(name: str, found: Sequence[Shown]) -> None:
    print(name)
    for one in found:
        seconds = f"{one.seconds:5.1f} s" if one.seconds else " " * 7
        print(f"  {_STATES[one.state]:<8}  {one.ability:<10}  {seconds}  {one.meaning}")
        for line in printable(one.detail).splitlines():
            print(f"{'':<33}{line}")
    counts = {state: sum(one.state == state for one in found) for state in _STATES}
    print("  " + ", ".join(f"{count} {state}" for state, count in counts.items() if count) + "\n")


def _recipes(names: Iterable[str]) -> Iterator[Recipe]:
    """The recipes of these adapters, or of all."""
    from demeanor.agents import CODING_AGENTS, adapter, third_party
    from demeanor.core.errors import UnknownName

    known = (*CODING_AGENTS, *third_party())
    for name in names or known:
        module = adapter(name)
        recipe = getattr(module, "RECIPE", None)
        if recipe is not None:
            yield recipe
        elif names:
            raise UnknownName("coding agent", name, known)


def _facts(recipe: Recipe, folder: Path) -> dict[str, object]:
    from demeanor.agents.package import find_program, installed, installed_version

    program = find_program(recipe.name, recipe.package, folder, None)
    version = installed_version((str(program),), recipe.package, recipe.version_option) if program else None
    return {
        "name": recipe.name,
        "title": recipe.title,
        "version": version,
        "path": str(program) if program else None,
        "versions": list(installed(recipe.name, recipe.package, folder)),
        "tried": recipe.package.version,
        "package": f"{recipe.package.manager}:{recipe.package.full_name}",
        "needs": recipe.package.needs,
        "dialects": list(recipe.dialects),
        "cannot": {ability.value: why for ability, why in recipe.cannot.items()},
    }


def _list(names: list[str], folder: Path, *, as_json: bool) -> ExitCode:
    found = [_facts(recipe, folder) for recipe in _recipes(names)]
    if as_json:
        print(json.dumps(found, indent=2))
        return ExitCode.ACCEPTED
    for facts in found:
        where = f"{facts['version'] or 'version unknown'}  {facts['path']}" if facts["path"] else "not installed"
        print(f"{facts['name']:<15} {where}")
        dialects = facts["dialects"]
        print(f"{'':<15} speaks {', '.join(dialects) if isinstance(dialects, list) else dialects}")
        cannot = facts["cannot"]
        for ability, why in cannot.items() if isinstance(cannot, dict) else ():
            print(f"{'':<15} can't: {ability} ({why})")
    print("\nGeneric adapters, by configuration: acp, command, native, python (docs/agents.md)")
    print("`demeanor agents install NAME` installs one; `demeanor agents check NAME` tries everything it should do")
    return ExitCode.ACCEPTED


def _install(names: list[str], folder: Path) -> ExitCode:
    from demeanor.agents.install import install
    from demeanor.core.errors import UsageError

    if not names:
        raise UsageError("which agent is to be installed?\n  → demeanor agents install NAME[@VERSION]")
    for text in names:
        name, _, version = text.partition("@")
        for recipe in _recipes([name]):
            program = install(recipe, version or None, folder, os.environ, _tell)
            print(f"{name} is ready: {program}")
            print(f"try it: demeanor run --subject {name}:scripted")
    return ExitCode.ACCEPTED


def _tell(news: str) -> None:
    sys.stderr.write(f"{news}\n")
    sys.stderr.flush()
