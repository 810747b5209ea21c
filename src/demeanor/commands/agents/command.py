"""`demeanor agents`: list, install and check coding agents."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.cli import config_argument, load_config, new_folder, positive_float, positive_int
from demeanor.core.started import mark_started
from demeanor.core.text.wording import printable
from demeanor.core.values.agent import Ability
from demeanor.core.values.exit_code import ExitCode

if TYPE_CHECKING:
    from demeanor.agents import Recipe, RecipeAgent
    from demeanor.commands.agents.conformance.suite import AbilityResult
    from demeanor.config import Config

_ABILITIES = tuple(ability.value for ability in Ability)
_LIST = ", ".join(_ABILITIES)
_STATES = {"shown": "shown", "declared": "can't", "failed": "FAILED", "unknown": "unknown"}


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "action",
        choices=("list", "install", "check"),
        nargs="?",
        default="list",
        help="list (default); install: into its own folder; check: run the conformance suite",
    )
    parser.add_argument(
        "names", metavar="NAME[@VERSION]", nargs="*", help="the agents; to install, optionally with an exact version"
    )
    parser.add_argument(
        "--dir", type=new_folder, metavar="DIR", help="the folder for installed agents (default: in your data folder)"
    )
    parser.add_argument(
        "--ability",
        action="append",
        default=[],
        choices=_ABILITIES,
        metavar="NAME",
        help=f"check only this ability; repeatable: {_LIST}",
    )
    parser.add_argument(
        "--timeout",
        type=positive_float,
        metavar="SECONDS",
        help="the time limit of an ordinary trial of a check (default: 60); the others are in proportion to it",
    )
    parser.add_argument(
        "--jobs", type=positive_int, metavar="N", help="how many trials of a check run in parallel (default: 3)"
    )
    parser.add_argument(
        "--sandbox", metavar="LEVEL", help="the sandbox for checks (default: that of the configuration)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(more_words="names")
    config_argument(parser)


def run(args: argparse.Namespace) -> ExitCode:
    """List, install or check agents."""
    from demeanor.agents.packages import agents_folders

    if args.action == "install":
        return _install(args.names, args.dir, load_config(args))
    if args.dir is not None:
        os.environ["DEMEANOR_AGENTS"] = str(args.dir.resolve())
    if args.action == "list":
        return _list(args.names, load_config(args), agents_folders(os.environ), as_json=args.json)
    return _check(args)


def _check(args: argparse.Namespace) -> ExitCode:
    """Run the conformance suite with each agent and print the results."""
    from demeanor.commands.agents.conformance.suite import DEFAULT_JOBS, DEFAULT_TIMEOUT, check
    from demeanor.core.text.codec import encode
    from demeanor.core.values.errors import UsageError

    if not args.names:
        raise UsageError("no agent is named\n  → demeanor agents check NAME")
    config = load_config(args)
    if args.sandbox:
        config = replace(config, sandbox=args.sandbox)
    only = [Ability(name) for name in args.ability]
    timeout, jobs = args.timeout or DEFAULT_TIMEOUT, args.jobs or DEFAULT_JOBS
    results = {
        name: check(config, name, os.environ, _show_progress, only, timeout=timeout, jobs=jobs) for name in args.names
    }
    if args.json:
        print(json.dumps(encode(results), indent=2))
    else:
        for name, answers in results.items():
            _print_results(name, answers)
    failed = any(answer.state == "failed" for answers in results.values() for answer in answers)
    return ExitCode.REJECTED if failed else ExitCode.ACCEPTED


def _print_results(name: str, answers: Sequence[AbilityResult]) -> None:
    print(name)
    for answer in answers:
        seconds = f"{answer.seconds:5.1f} s" if answer.seconds else " " * 7
        print(f"  {_STATES[answer.state]:<8}  {answer.ability:<13}  {seconds}  {answer.meaning}")
        for line in printable(answer.detail).splitlines():
            print(f"{'':<33}{line}")
    counts = {state: sum(answer.state == state for answer in answers) for state in _STATES}
    print("  " + ", ".join(f"{count} {state}" for state, count in counts.items() if count) + "\n")


def _chosen(config: Config, recipe: Recipe) -> RecipeAgent:
    """The agent as a run would start it."""
    from demeanor.agents import RecipeAgent, reader
    from demeanor.config import Table
    from demeanor.runner import Catalog

    agent = Catalog(config=config, environ=os.environ).agent(recipe.name)
    if isinstance(agent, RecipeAgent):
        return agent
    return reader(recipe)(recipe.name, Table({}, where="the defaults"))


def _recipes(names: Iterable[str]) -> Iterator[Recipe]:
    """Yield the recipes of the named agents, or of all."""
    from demeanor.agents import CODING_AGENTS, adapter, third_party
    from demeanor.core.values.errors import UnknownName

    known_agents = (*CODING_AGENTS, *third_party())
    for name in names or known_agents:
        module = adapter(name)
        recipe = getattr(module, "RECIPE", None)
        if recipe is not None:
            yield recipe
        elif names:
            raise UnknownName("coding agent", name, known_agents)


def _facts(recipe: Recipe, agent: RecipeAgent, folders: tuple[Path, ...]) -> dict[str, object]:
    from demeanor.agents.packages import installed

    program = agent.setup.program
    return {
        "name": recipe.name,
        "title": recipe.title,
        "version": agent.version(),
        "why": agent.why,
        "path": " ".join(program) or None,
        "versions": list(installed(recipe.name, recipe.package, folders)),
        "tried": recipe.package.version,
        "package": f"{recipe.package.manager}:{recipe.package.full_name}",
        "needs": recipe.package.needs,
        "dialects": list(recipe.dialects),
        "cannot": {ability.value: why for ability, why in recipe.cannot.items()},
    }


def _list(names: list[str], config: Config, folders: tuple[Path, ...], *, as_json: bool) -> ExitCode:
    rows = [_facts(recipe, _chosen(config, recipe), folders) for recipe in _recipes(names)]
    if as_json:
        print(json.dumps(rows, indent=2))
        return ExitCode.ACCEPTED
    for facts in rows:
        where = f"{facts['version'] or 'version unknown'}  {facts['path']}" if facts["path"] else "not installed"
        print(f"{facts['name']:<15} {where}")
        if facts["why"]:
            print(f"{'':<15} {facts['why']}")
        dialects = facts["dialects"]
        print(f"{'':<15} speaks {', '.join(dialects) if isinstance(dialects, list) else dialects}")
        cannot = facts["cannot"]
        for ability, why in cannot.items() if isinstance(cannot, dict) else ():
            print(f"{'':<15} can't: {ability} ({why})")
    print("\nFolders of installed agents:")
    for folder in folders:
        print(f"  {folder}" if folder.is_dir() else f"  {folder} (does not exist)")
    print("\nGeneric adapters, by configuration: acp, command, native, python (demeanor help agents)")
    print("Install one with `demeanor agents install NAME`; test its abilities with `demeanor agents check NAME`")
    return ExitCode.ACCEPTED


def _install(names: list[str], chosen: Path | None, config: Config) -> ExitCode:
    """Install agents into the chosen folder, which is then recorded, or into the usual one."""
    from demeanor.agents.packages import agents_folder, install
    from demeanor.core.values.errors import UsageError

    if not names:
        raise UsageError("no agent is named\n  → demeanor agents install NAME[@VERSION]")
    folder = chosen.resolve() if chosen else agents_folder(os.environ)
    versions = {name: version for name, _, version in (text.partition("@") for text in names)}
    recipes = list(_recipes(list(versions)))
    for recipe in recipes:
        _chosen(config, recipe)  # a mistake in its table is found before anything is installed
    for recipe in recipes:
        program = install(recipe, versions.get(recipe.name) or None, folder, os.environ, _show_progress)
        mark_started()
        if chosen:
            _record(folder)
        print(f"{recipe.name} is ready: {program}")
        print(_how_to_use(recipe, _chosen(config, recipe), program, versions.get(recipe.name)))
    return ExitCode.ACCEPTED


def _how_to_use(recipe: Recipe, agent: RecipeAgent, program: Path, version: str | None) -> str:
    """The command that runs what was just installed; if a run would use another version, the table that it needs."""
    command = f"try it: demeanor run --subject {recipe.name}:scripted"
    if not agent.setup.program or agent.setup.program[-1] == str(program):
        return command
    used, made = agent.version() or "(version unknown)", version or recipe.package.version
    in_both = f"/{recipe.name}/{made}/" in agent.setup.program[-1]  # installed in two folders
    setting = f'program = "{program}"' if in_both else f'version = "{made}"'
    return (
        f"runs use {recipe.name} {used} instead: {agent.why}\n"
        f"  → to use {made}, write in demeanor.toml:\n"
        f"[agents.{recipe.name}]\n"
        f"{setting}\n"
        f"{command}"
    )


def _record(folder: Path) -> None:
    """Record the folder for later commands; if that is impossible or has no effect, say what to do instead."""
    from demeanor.agents.packages import agents_folders, record_folder

    try:
        record_folder(folder, os.environ)
    except OSError as error:
        _show_progress(f"{folder} could not be recorded ({error})\n  → set DEMEANOR_AGENTS={folder} for later commands")
        return
    if folder not in agents_folders(os.environ):
        _show_progress(f"DEMEANOR_AGENTS names another folder\n  → unset it, or set DEMEANOR_AGENTS={folder}")


def _show_progress(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
