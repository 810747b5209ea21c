"""`demeanor init`: set up evals, configuration and CI in this folder."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from demeanor.config import FILE
from demeanor.core.trees.file_set import write_files
from demeanor.core.values.errors import BadInput
from demeanor.core.values.exit_code import ExitCode

if TYPE_CHECKING:
    from demeanor.commands.init.starter_files import StarterChoice

_SERVICES = ("github", "gitlab", "buildkite", "none")
_IGNORED = ("results/", "evals/**/logs/")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument(
        "folder", nargs="?", type=Path, default=Path(), help="the folder to set up (default: the current folder)"
    )
    parser.add_argument(
        "--agent",
        metavar="NAME|COMMAND",
        help="the agent to test, such as claude-code, or the command that starts your own, such as"
        " './agent.sh {prompt}' (default: native, a small built-in one)",
    )
    parser.add_argument(
        "--model",
        metavar="PROVIDER/MODEL",
        help="its model, such as anthropic/claude-sonnet-4-5 (default: a small one on this machine, without a key)",
    )
    parser.add_argument(
        "--smoke", action="store_true", help="on GitHub: also a workflow that runs all evals once after every merge"
    )
    parser.add_argument("--ci", choices=_SERVICES, help="the CI service to write workflows for (default: github)")


def run(args: argparse.Namespace) -> ExitCode:
    """Create the missing files, all or none. Of existing files, only the schemas change, and .gitignore gets lines."""
    from demeanor.commands.init.starter_files import (
        existing_scenarios,
        left_for_ci,
        schema_files,
        starter_files,
        steps,
    )
    from demeanor.render import next_steps

    schemas = {args.folder / path: text for path, text in schema_files().items()}
    choice = replace(_choice(args), scenarios=existing_scenarios(args.folder))
    starter = starter_files(choice)
    contents: dict[Path, str | bytes] = {**{args.folder / path: text for path, text in starter.items()}, **schemas}
    old = {path for path in contents if path.exists()}
    new = {path: text for path, text in contents.items() if path not in old or _is_stale(path, schemas)}
    ignore = args.folder / ".gitignore"
    if (ignored := _with_ignored(ignore)) is not None:
        contents[ignore] = new[ignore] = ignored
        old |= {ignore} if ignore.exists() else set()
    write_files(new)
    for path in contents:
        done = "updated" if path in old else "created"
        if path not in new:
            done = "kept"
        print(f"{done:<8} {path}{' (already exists)' if done == 'kept' else ''}")
    if choice.own and args.folder / FILE not in new:
        print(f"\nadd your agent to {args.folder / FILE}:\n\n" + "\n".join(choice.own.lines()))
    folder = [] if args.folder == Path() else [(f"cd {shlex.quote(str(args.folder))}", "")]
    print(f"\n{next_steps([*folder, *steps(choice, os.environ)])}")
    if left := left_for_ci(choice):
        print(f"\n{left}{_left_to_fill_in(args.folder)}\nMore about this: demeanor help ci")
    return ExitCode.ACCEPTED


def _left_to_fill_in(folder: Path) -> str:
    """The lines of CI files that do not say yet what pip installs, and why; empty if all do."""
    from demeanor.cli import VARIABLE, unfilled_lines
    from demeanor.core.installation import installed_from

    lines = unfilled_lines(folder)
    if not lines:
        return ""
    why = f"other machines can't install Demeanor from {installed_from().place}"
    return "\n  ".join([f"\nFirst fill in {VARIABLE}, because {why}:", *lines])


def _is_stale(path: Path, schemas: Mapping[Path, str]) -> bool:
    """Whether a file is a schema of another version of Demeanor."""
    return path in schemas and path.read_bytes() != schemas[path].encode()


def _choice(args: argparse.Namespace) -> StarterChoice:
    """The options, or the answers to questions if a person is there to answer them."""
    from demeanor.commands.init.questions import asked, checked

    if sys.stdin.isatty() and sys.stdout.isatty() and args.agent is args.model is args.ci is None:
        return asked(args.folder, smoke=args.smoke)
    return checked(args.folder, args.agent, args.model, args.ci, smoke=args.smoke)


def _with_ignored(path: Path) -> str | None:
    """The text of .gitignore with what Demeanor writes; None if it is there already."""
    try:
        text = path.read_text("utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"can't be read: {error}", where=path) from None
    present = {line.strip().strip("/") for line in text.splitlines()}
    missing = [line for line in _IGNORED if line.strip("/") not in present]
    if not missing:
        return None
    return f"{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{chr(10).join(missing)}\n"
