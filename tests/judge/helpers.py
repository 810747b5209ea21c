"""Helpers for the tests of judge/: create and read workspaces, run commands, build evidence."""

from __future__ import annotations

import hashlib
import shutil
import stat
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from demeanor.core.trees.tree import Entry, Tree
from demeanor.core.values.evidence import Evidence, Spent
from demeanor.core.values.ports import CommandResult
from demeanor.core.values.scenario import Scenario
from demeanor.core.values.trajectory import Called, Said, Trajectory, kind_of
from demeanor.judge.rig import Rig


def read_back(folder: Path) -> Tree:
    """The content of a folder."""
    entries = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            entries[name] = Entry(kind="link", target=str(path.readlink()))
        elif path.is_file():
            entries[name] = replace(file(path.read_bytes()), executable=bool(path.stat().st_mode & stat.S_IXUSR))
    return Tree(entries=entries)


def lay_out(scenario: Scenario, folder: Path) -> Tree:
    """The starting workspace, without git."""
    if scenario.template is not None:
        shutil.copytree(scenario.template, folder, symlinks=True, dirs_exist_ok=True)
    write_files(folder, scenario.files)
    if scenario.setup is not None:
        scenario.setup(folder)
    return read_back(folder)


def write_files(folder: Path, files) -> None:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)


def run_command(tree: Tree, argv: tuple[str, ...], *, timeout: float) -> CommandResult:
    """Run a command in a temporary copy of a workspace."""
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), {path: entry.read() for path, entry in tree.entries.items() if entry.kind == "file"})
        end = subprocess.run(argv, cwd=folder, capture_output=True, text=True, timeout=timeout, check=False)
    return CommandResult(exit_code=end.returncode, stdout=end.stdout, stderr=end.stderr)


def no_command(tree: Tree, argv: tuple[str, ...], *, timeout: float) -> CommandResult:
    raise AssertionError(f"no command should be run, not {argv}")


def file(content: bytes | str) -> Entry:
    data = content.encode() if isinstance(content, str) else content
    return Entry(kind="file", size=len(data), sha256=hashlib.sha256(data).hexdigest(), content=data)


def tree(files=None, *, gaps: tuple[str, ...] = ()) -> Tree:
    return Tree(entries={path: file(content) for path, content in (files or {}).items()}, gaps=gaps)


def called(tool: str, *, turn: int = 1, succeeded: bool | None = True, result: str | None = "", **arguments) -> Called:
    return Called(
        turn=turn,
        id="1",
        tool=tool,
        kind=kind_of(tool),
        arguments=arguments,
        result=result,
        succeeded=succeeded,
    )


def evidence(*events, before=None, after=None, gaps: tuple[str, ...] = (), **fields) -> Evidence:
    """Evidence with these events (a string is a message) and with files before and after."""
    happened = tuple(Said(turn=1, text=event) if isinstance(event, str) else event for event in events)
    fields.setdefault("spent", Spent(turns=len(happened)))
    return Evidence(
        trial="eval/subject/1",
        trajectory=Trajectory(events=happened, gaps=gaps),
        before=tree(before) if not isinstance(before, Tree) else before,
        after=tree(after) if not isinstance(after, Tree) else after,
        **fields,
    )


def rig(*events, run=no_command, **known) -> Rig:
    return Rig(evidence(*events, **known), run)
