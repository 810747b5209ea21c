"""`demeanor task`: create a new task in the Harbor format."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from demeanor.core.errors import UsageError
from demeanor.core.exit_code import ExitCode
from demeanor.core.file_set import write_files
from demeanor.render.terminal import next_steps

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_SCRIPTS = (".sh",)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's options."""
    parser.add_argument("action", choices=("new",), help="new: create a small, complete task that you can edit")
    parser.add_argument("name", metavar="NAME", help="the name of the task, such as fix-the-parser")
    parser.add_argument("--dir", type=Path, default=Path("tasks"), help="the folder for the task (default: tasks)")
    parser.add_argument(
        "--org", default="local", help="the organisation, the first half of the task's name (default: local)"
    )


def run(args: argparse.Namespace) -> ExitCode:
    """Create the task's folder; refuse if it exists."""
    for what, word in (("NAME", args.name), ("--org", args.org)):
        if not _NAME.fullmatch(word):
            raise UsageError(f"{what} {word!r}: not a valid name\n  → use lower-case letters, digits, '-', '_' and '.'")
    folder = args.dir / args.name
    if folder.exists():
        raise UsageError(f"{folder}: already exists\n  → choose another name, or move it away")
    contents: dict[Path, str] = {}
    for path, template in _files(files("demeanor.commands.task") / "starter"):
        text = template.read_text("utf-8")
        if path.suffix in {".toml", ".md"}:
            text = text.replace("{name}", args.name).replace("{org}", args.org).replace("{folder}", folder.as_posix())
        contents[folder / path] = text
    write_files(contents, executable={path for path in contents if path.suffix in _SCRIPTS})
    for path in contents:
        print(f"created  {path}")
    place = shlex.quote(str(folder))
    steps = [
        ("demeanor harbor install", "once: Harbor runs tasks"),
        (f"demeanor validate {place}", "can it be solved, and not by doing nothing?"),
        (f"demeanor run {place} --policy all", "run an agent on it"),
    ]
    print(f"\n{next_steps(steps)}")
    return ExitCode.ACCEPTED


def _files(folder: Traversable, above: Path = Path()) -> Iterator[tuple[Path, Traversable]]:
    """Yield the starter files, sorted."""
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        if entry.name == "__pycache__":  # pip compiles the starter's Python files when it installs a wheel
            continue
        if entry.is_dir():
            yield from _files(entry, above / entry.name)
        else:
            yield above / entry.name, entry
