"""`demeanor init`: set up evals, configuration and CI in this folder."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.core.errors import BadInput, UnknownName
from demeanor.core.exit_code import ExitCode
from demeanor.core.file_set import write_files

if TYPE_CHECKING:
    from demeanor.commands.adopt.groups import GroupedSessions
    from demeanor.commands.init.starter_files import StarterChoice

_SERVICES = ("github", "gitlab", "buildkite", "none")
_IGNORED = "results/"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path(), help="the folder to set up (default: the current folder)"
    )
    parser.add_argument(
        "--agent", metavar="NAME", help="the agent to test, such as claude-code (default: native, a small built-in one)"
    )
    parser.add_argument(
        "--model",
        metavar="PROVIDER/MODEL",
        help="its model, such as anthropic/claude-sonnet-4-5 (default: a small one on this machine, without a key)",
    )
    parser.add_argument(
        "--from-sessions",
        type=Path,
        metavar="DIR",
        help="instead of the example evals, propose evals from the sessions of coding agents below this folder, grouped"
        " by what the agents did (docs/adopt.md)",
    )
    parser.add_argument("--ci", choices=_SERVICES, help="the CI service to write workflows for (default: github)")


def run(args: argparse.Namespace) -> ExitCode:
    """Create the missing files, all or none. Of existing files, only the schemas change, and .gitignore gets a line."""
    from demeanor.commands.adopt.groups import grouped_text
    from demeanor.commands.init.starter_files import schema_files, starter_files

    grouped = _grouped(args) if args.from_sessions else None
    schemas = {args.folder / path: text for path, text in schema_files().items()}
    starter = starter_files(_choice(args), evals=grouped is None)
    found: dict[Path, str | bytes] = {**{args.folder / path: text for path, text in starter.items()}, **schemas}
    for group in grouped.groups if grouped else ():
        found |= group.example.files if group.example is not None else {}
    old = {path for path in found if path.exists()}
    new = {path: text for path, text in found.items() if path not in old or _is_stale(path, schemas)}
    ignore = args.folder / ".gitignore"
    if (ignored := _with_results(ignore)) is not None:
        found[ignore] = new[ignore] = ignored
        old |= {ignore} if ignore.exists() else set()
    write_files(new)
    for path in found:
        done = "kept" if path not in new else "updated" if path in old else "created"
        print(f"{done:<8} {path}{' (already exists)' if done == 'kept' else ''}")
    if grouped is not None:
        print(f"\n{grouped_text(grouped)}")
    where = "" if args.folder == Path() else f"cd {args.folder} && "
    print(
        f"\nnext:\n  {where}demeanor validate             check that each eval can pass and can fail, without a model"
        f"\n  {where}demeanor run --policy all     run them"
    )
    return ExitCode.ACCEPTED


def _grouped(args: argparse.Namespace) -> GroupedSessions:
    """The sessions of `--from-sessions`, with evals that no existing file is in the way of."""
    from demeanor.commands.adopt.groups import group_sessions
    from demeanor.config.config import read_config
    from demeanor.runner.catalog import Catalog

    config = read_config(args.folder if args.folder.is_dir() else Path.cwd())
    redactor = Catalog(config=config, environ=os.environ).redactor
    return group_sessions(args.from_sessions, redactor=redactor, evals=args.folder / "evals")


def _is_stale(path: Path, schemas: Mapping[Path, str]) -> bool:
    """Whether a file is a schema of another version of Demeanor."""
    return path in schemas and path.read_bytes() != schemas[path].encode()


def _choice(args: argparse.Namespace) -> StarterChoice:
    """The options, or the answers to questions if a person is there to answer them."""
    from demeanor.commands.init.starter_files import NATIVE, StarterChoice
    from demeanor.config.providers import WELL_KNOWN
    from demeanor.runner.catalog import BARE_AGENTS

    asked = sys.stdin.isatty() and sys.stdout.isatty() and args.agent is args.model is args.ci is None
    agent = args.agent or (_ask("Which agent do you test?", NATIVE) if asked else NATIVE)
    if agent not in BARE_AGENTS:
        raise UnknownName("agent", agent, BARE_AGENTS, where="--agent")
    model = args.model or (_ask("Which model, as PROVIDER/MODEL? Enter: a local one", "") if asked else "")
    provider, slash, name = model.partition("/")
    if model and not (slash and name):
        raise BadInput(f"{model!r} is not PROVIDER/MODEL", where="--model", remedy="such as openai/gpt-5-mini")
    if model and provider not in WELL_KNOWN:
        raise UnknownName("provider", provider, WELL_KNOWN, where="--model")
    service = args.ci or (_ask(f"Which CI service? {', '.join(_SERVICES)}", "github") if asked else "github")
    if service not in _SERVICES:
        raise UnknownName("CI service", service, _SERVICES, where="--ci")
    return StarterChoice(agent=agent, model=model, ci=service)


def _ask(question: str, default: str) -> str:
    print(f"{question} [{default}] ", end="", flush=True)
    return sys.stdin.readline().strip() or default


def _with_results(path: Path) -> str | None:
    """The text of .gitignore with the folder of results; None if it is there already."""
    try:
        text = path.read_text("utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"can't be read: {error}", where=path) from None
    if _IGNORED.strip("/") in {line.strip().strip("/") for line in text.splitlines()}:
        return None
    return f"{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{_IGNORED}\n"
